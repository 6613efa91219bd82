r"""Pairs of sparse linear teachers that share some of their active features.

A learner that knows the auxiliary teacher, from multi-task learning or from pretraining, is asked
for the main one. How much it gains rests on the overlap: the features that are active in both.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, fields
from math import sqrt
from typing import Literal

import numpy as np
from jaxtyping import Float

from partwhole._checks import require, seed_list
from partwhole._door import door
from partwhole._types import Count, Index, Positive, Seed

Scale = Literal["1/sqrt(a)", "1/a"] | Positive

# Random streams beside that of the main sample, which none of them moves.
AUXILIARY, TEST, SIGNS = 1, 2, 3


@door
@dataclass(frozen=True, eq=False)
class TeacherPair:
    """Coefficients of two linear teachers.

    Parameters
    ----------
    auxiliary, main : float arrays, shape (d,)
    """

    auxiliary: Float[np.ndarray, " d"]
    main: Float[np.ndarray, " d"]


@dataclass(frozen=True, eq=False)
class TeacherSample:
    """Data of both tasks, of one seed or, along a leading axis, of several.

    Parameters
    ----------
    inputs, aux_inputs, test_inputs : float arrays, shape (..., n, d)
        Of the main task, the auxiliary task and the test of the main task.
    targets, aux_targets, test_targets : float arrays, shape (..., n)
        Without noise.
    auxiliary, main : float arrays, shape (..., d)
        The teachers' coefficients.
    """

    inputs: Float[np.ndarray, "*seeds n d"]
    targets: Float[np.ndarray, "*seeds n"]
    aux_inputs: Float[np.ndarray, "*seeds a d"]
    aux_targets: Float[np.ndarray, "*seeds a"]
    test_inputs: Float[np.ndarray, "*seeds t d"]
    test_targets: Float[np.ndarray, "*seeds t"]
    auxiliary: Float[np.ndarray, "*seeds d"]
    main: Float[np.ndarray, "*seeds d"]

    @door
    def test_error(self, coefficients: Float[np.ndarray, "*b d"]) -> float | np.ndarray:
        r"""Return the expected squared error of a linear learner on new inputs of the main task.

        .. math:: E[(x^\top \beta - x^\top \beta_*)^2] = |\beta - \beta_*|^2,

        exactly, since :math:`E[x x^\top] = I`: normal rows point in all directions alike, and
        are rescaled to :math:`|x|^2 = d`.

        Parameters
        ----------
        coefficients : float array, shape (..., d)
            Leading axes of several learners, or of the seeds, are kept.

        Returns
        -------
        float or float array, shape (...)
            In units of the squared targets.

        Raises
        ------
        InputError
            For coefficients of another dimension.

        Examples
        --------
        >>> sample = SparseTeachers(active_main=5, overlap=5, main_scale="1/a").sample(0, n_main=8)
        >>> round(sample.test_error(0 * sample.main), 12)
        0.2
        """
        d = self.main.shape[-1]
        learners = np.asarray(coefficients, dtype=float)
        require(
            learners.ndim >= 1 and learners.shape[-1] == d,
            f"coefficients are one for each of the {d} features",
            f"shape {learners.shape}",
            "pass one learner, or a row for each",
        )
        error = ((learners - self.main) ** 2).sum(axis=-1)
        return float(error) if error.ndim == 0 else error


@door
@dataclass(frozen=True)
class SparseTeachers:
    r"""Two sparse linear tasks, an auxiliary and a main one, with shared features.

    The auxiliary teacher has entries of one size and random sign on `active_aux` of the d
    features. The main teacher has `active_main` active features: `overlap` of these, and others
    that the auxiliary teacher doesn't use. Inputs are normal, each rescaled to :math:`|x|^2 = d`;
    targets :math:`x^\top \beta_*` have no noise.

    Parameters
    ----------
    dimension : int, default 1000
        d, the number of features.
    active_aux, active_main : int, default 40
        Active features of either task, :math:`a_1` and :math:`a_2`.
    overlap : int, default 40
        Features active in both.
    main_scale, aux_scale : {"1/sqrt(a)", "1/a"} or float, keyword-only, default "1/sqrt(a)"
        Size of the entries, a the task's number of active features. With "1/sqrt(a)" targets
        have variance 1 whatever the sparsity, with "1/a" they have variance 1/a.
    signs : {"shared", "independent"}, keyword-only, default "shared"
        Whether shared features have the same sign in both tasks.

    Raises
    ------
    InputError
        For no active features, an overlap above either number of them, more features than there
        are dimensions, or a scale that is not above 0.

    Notes
    -----
    Lippl & Lindsey (NeurIPS 2024). Their published losses of main tasks with 5 to 40 active
    features start at 1/a, so that they belong to ``main_scale="1/a"``; their published code, and
    their losses for tasks of different overlap, have "1/sqrt(a)".

    Examples
    --------
    >>> task = SparseTeachers(active_main=5, overlap=3)
    >>> teachers = task.teachers(seed=0)
    >>> int((teachers.auxiliary * teachers.main > 0).sum()), round(float(teachers.main.max()), 4)
    (3, 0.4472)
    """

    dimension: Count = 1000
    active_aux: Count = 40
    active_main: Count = 40
    overlap: Index = 40
    _: KW_ONLY
    main_scale: Scale = "1/sqrt(a)"
    aux_scale: Scale = "1/sqrt(a)"
    signs: Literal["shared", "independent"] = "shared"

    def __post_init__(self) -> None:
        require(
            self.overlap <= min(self.active_aux, self.active_main),
            "overlap counts features that are active in both tasks",
            f"{self.overlap}, with {self.active_aux} active in the auxiliary task and "
            f"{self.active_main} in the main task",
            "lower overlap, or raise the smaller number",
        )
        needed = self.active_aux + self.active_main - self.overlap
        require(
            needed <= self.dimension,
            "every active feature is one of the dimensions",
            f"{needed} features in {self.dimension} dimensions",
            "raise dimension, or share more features",
        )

    @property
    def main_amplitude(self) -> float:
        """Return the size of the main teacher's entries."""
        return _amplitude(self.main_scale, self.active_main)

    @property
    def aux_amplitude(self) -> float:
        """Return the size of the auxiliary teacher's entries."""
        return _amplitude(self.aux_scale, self.active_aux)

    @door
    def teachers(self, seed: Seed) -> TeacherPair:
        """Draw both teachers.

        Seeds and the auxiliary task decide the order of the features and their signs, so that
        the auxiliary teacher stays the same for every main task, and a main task with a larger
        overlap shares the features of one with a smaller.

        Parameters
        ----------
        seed : int
            At least 0.

        Returns
        -------
        TeacherPair
        """
        return self._teachers(seed)[0]

    @door
    def sample(
        self, seed: Seed, n_main: Index, n_aux: Index = 0, n_test: Index = 0
    ) -> TeacherSample:
        """Draw both teachers and data from them.

        Main, auxiliary and test inputs have random streams of their own, and smaller samples are
        the first rows of larger ones.

        Parameters
        ----------
        seed : int
            At least 0; it draws the same teachers as `teachers`.
        n_main, n_aux, n_test : int, default 0 for the last two
            Rows of the main task, of the auxiliary task and of the main task's test.

        Returns
        -------
        TeacherSample

        Raises
        ------
        InputError
            For a seed or a number of rows below 0.

        Examples
        --------
        >>> sample = SparseTeachers().sample(seed=0, n_main=32)
        >>> sample.inputs.shape, round(float((sample.inputs[0] ** 2).mean()), 12)
        ((32, 1000), 1.0)
        """
        pair, rng = self._teachers(seed)
        main, auxiliary, test = (
            self._inputs(stream, rows)
            for stream, rows in (
                (rng, n_main),
                (np.random.default_rng([seed, AUXILIARY]), n_aux),
                (np.random.default_rng([seed, TEST]), n_test),
            )
        )
        return TeacherSample(
            main,
            main @ pair.main,
            auxiliary,
            auxiliary @ pair.auxiliary,
            test,
            test @ pair.main,
            pair.auxiliary,
            pair.main,
        )

    @door
    def samples(
        self, seeds: Iterable[int], n_main: Index, n_aux: Index = 0, n_test: Index = 0
    ) -> TeacherSample:
        """Draw data for several seeds and stack them along a leading axis.

        Parameters
        ----------
        seeds : iterable of int
            At least one.
        n_main, n_aux, n_test : int, default 0 for the last two
            As in `sample`.

        Returns
        -------
        TeacherSample
            With arrays of shape (seeds, ...).

        Raises
        ------
        InputError
            For no seeds, and as in `sample`.
        """
        drawn = [self.sample(seed, n_main, n_aux, n_test) for seed in seed_list(seeds)]
        names = [entry.name for entry in fields(TeacherSample)]
        return TeacherSample(
            **{name: np.stack([getattr(entry, name) for entry in drawn]) for name in names}
        )

    def describe(self) -> str:
        """Return a description of what the two tasks share.

        Examples
        --------
        >>> print(SparseTeachers(active_main=5, overlap=3, main_scale="1/a").describe())
        sparse linear teachers: of 1000 features 40 are active in the auxiliary task (entries
        ±0.1581) and 5 in the main task (entries ±0.2), 3 in both with the same sign
        """
        common = {
            "shared": "with the same sign",
            "independent": "with signs drawn anew",
        }[self.signs]
        shared = f"{self.overlap} in both {common}" if self.overlap else "none in both"
        return (
            f"sparse linear teachers: of {self.dimension} features {self.active_aux} are active "
            f"in the auxiliary task (entries ±{self.aux_amplitude:.4g}) and {self.active_main} in "
            f"the main task (entries ±{self.main_amplitude:.4g}), {shared}"
        )

    def _teachers(self, seed: Seed) -> tuple[TeacherPair, np.random.Generator]:
        """Return the teachers, and the generator that goes on to draw the main inputs."""
        rng = np.random.default_rng(seed)
        order = rng.permutation(self.dimension)
        signs = np.sign(rng.random(self.active_aux) - 0.5)
        # More main than auxiliary features need further signs, which must not move the inputs.
        main_signs = np.sign(np.random.default_rng([seed, SIGNS]).random(self.active_main) - 0.5)
        if self.signs == "shared":
            main_signs[: self.active_aux] = signs[: self.active_main]
        new = order[self.active_aux :][: self.active_main - self.overlap]
        auxiliary, main = np.zeros((2, self.dimension))
        auxiliary[order[: self.active_aux]] = self.aux_amplitude * signs
        main[np.concatenate([order[: self.overlap], new])] = self.main_amplitude * main_signs
        return TeacherPair(auxiliary, main), rng

    def _inputs(self, rng: np.random.Generator, rows: int) -> np.ndarray:
        inputs = rng.standard_normal((rows, self.dimension))
        inputs /= np.sqrt((inputs**2).mean(axis=1, keepdims=True))
        return inputs


def _amplitude(scale: Scale, active: int) -> float:
    if isinstance(scale, str):
        return 1.0 / sqrt(active) if scale == "1/sqrt(a)" else 1.0 / active
    return float(scale)
