r"""Pairs of ReLU teachers whose hidden units agree, lie close, or have nothing in common.

Normal inputs rescaled to :math:`|x|^2 = d` are uniform on a sphere. A ReLU network without biases
is homogeneous of degree one, so products of two units average over that sphere as they do over
normal inputs, and errors between two such networks have a closed form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, lgamma, pi, sqrt

import numpy as np
from jaxtyping import Float

from partwhole._checks import is_finite, require
from partwhole._door import door
from partwhole._types import Count, Index, Positive, Real, Seed

# Separate random streams: draws for one purpose do not change draws for another.
UNITS, AUX_SIGNS, MAIN_SIGNS, MAIN, AUXILIARY, TEST = range(6)


@door
@dataclass(frozen=True, eq=False)
class ReLUTeacher:
    r"""ReLU network :math:`f(x) = \sum_h v_h \max(0, w_h^\top x)`.

    Parameters
    ----------
    hidden : float array, shape (h, d)
        w, a row for each unit.
    readout : float array, shape (h,)
        v.
    """

    hidden: Float[np.ndarray, "h d"]
    readout: Float[np.ndarray, " h"]

    @door
    def __call__(self, inputs: Float[np.ndarray, "*n d"]) -> Float[np.ndarray, "*n"]:
        """Return the outputs, shape (...), for inputs of shape (..., d)."""
        d = self.hidden.shape[1]
        rule = f"inputs have {d} coordinates, as the units have weights"
        require(inputs.shape[-1] == d, rule, f"shape {inputs.shape}", "pass rows of that length")
        return np.asarray(np.maximum(inputs @ self.hidden.T, 0.0) @ self.readout)

    def mean(self) -> float:
        r"""Return the expected output on the sphere :math:`|x|^2 = d`.

        :math:`E[f] = \sqrt{d / 2\pi} \sum_h v_h |w_h| \,/\, E|g|` with g normal in d dimensions;
        on normal inputs the first factor would be :math:`\sqrt{1 / 2\pi}`. Derived here.
        """
        d = self.hidden.shape[1]
        length = sqrt(2.0) * exp(lgamma((d + 1) / 2) - lgamma(d / 2))
        norms = np.linalg.norm(self.hidden, axis=1)
        return float(sqrt(d / (2 * pi)) / length * (self.readout @ norms))

    def second_moment(self) -> float:
        r"""Return :math:`E[f^2]`, the same on the sphere :math:`|x|^2 = d` and on normal inputs."""
        return float(self.readout @ relu_products(self.hidden, self.hidden) @ self.readout)

    def variance(self) -> float:
        """Return the variance of the output on the sphere, the error of the best constant.

        For n orthogonal units with readouts ±1/√n it is 1/2 - 1/(2π) = 0.3408 on normal inputs,
        whatever the signs. On the sphere inputs don't differ in length, which takes off what that
        adds to the mean's square: 0.3355 on average over signs at d = 15.
        """
        return self.second_moment() - self.mean() ** 2

    @door
    def test_error(
        self, hidden: Float[np.ndarray, "m d"], readout: Float[np.ndarray, " m"]
    ) -> float:
        r"""Return the expected squared error of another ReLU network without biases.

        .. math:: E[(f - f_*)^2] = u^\top K u, \qquad u = (v, -v_*),

        over the units of both together, with K from `relu_products`.

        Parameters
        ----------
        hidden : float array, shape (m, d)
            The learner's first layer, a row for each unit.
        readout : float array, shape (m,)

        Returns
        -------
        float
            In units of the squared targets. Rounding adds about 1e-16 of the squared size of
            the summands.

        Raises
        ------
        InputError
            For units of another dimension, and readouts that are not one for each unit.

        Notes
        -----
        Exact for inputs on the sphere, and for normal ones. Derived here from the arc-cosine
        kernel of degree one (Cho & Saul, NeurIPS 2009).

        Examples
        --------
        >>> main = ReLUTeachers().teachers(seed=0).main
        >>> abs(round(main.test_error(2 * main.hidden, main.readout / 2), 12))
        0.0
        """
        d = self.hidden.shape[1]
        require(
            hidden.ndim == 2 and hidden.shape[1] == d and readout.shape == hidden.shape[:1],
            f"a network has a row of {d} weights and a readout for each unit",
            f"shapes {hidden.shape} and {readout.shape}",
            "transpose the first layer, or leave biases out",
        )
        units = np.concatenate([hidden, self.hidden])
        signed = np.concatenate([readout, -self.readout])
        # A square: below 0 only by rounding.
        return max(0.0, float(signed @ relu_products(units, units) @ signed))


@door
def relu_products(
    a: Float[np.ndarray, "m d"], b: Float[np.ndarray, "k d"]
) -> Float[np.ndarray, "m k"]:
    r"""Return the mean product of every two ReLU units.

    .. math:: E[\max(0, a^\top x) \max(0, b^\top x)]
              = \frac{|a||b|}{2\pi} \big(\sin\theta + (\pi - \theta)\cos\theta\big),

    with the angle theta between them, for normal inputs and for inputs that are uniform on the
    sphere :math:`|x|^2 = d` alike: the product is of degree two in the length of x, which is
    independent of its direction and has mean square d.

    Parameters
    ----------
    a : float array, shape (m, d)
    b : float array, shape (k, d)
        A row for each unit.

    Returns
    -------
    float array, shape (m, k)

    Notes
    -----
    The arc-cosine kernel of degree one (Cho & Saul, NeurIPS 2009).

    Examples
    --------
    >>> relu_products(np.eye(2), np.eye(2)).round(4).tolist()
    [[0.5, 0.1592], [0.1592, 0.5]]
    """
    norms = np.outer(np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1))
    cosine = np.divide(a @ b.T, norms, out=np.zeros_like(norms), where=norms > 0)
    angle = np.arccos(np.clip(cosine, -1.0, 1.0))
    return norms / (2 * pi) * (np.sin(angle) + (pi - angle) * np.cos(angle))


@door
@dataclass(frozen=True, eq=False)
class ReLUTeacherPair:
    """Pair of ReLU teachers.

    Parameters
    ----------
    auxiliary, main : ReLUTeacher
    """

    auxiliary: ReLUTeacher
    main: ReLUTeacher


@dataclass(frozen=True, eq=False)
class ReLUTeacherSample:
    """Data of both tasks, with their teachers.

    Parameters
    ----------
    inputs, aux_inputs, test_inputs : float arrays, shape (n, d)
        Of the main task, the auxiliary task and the test of the main task.
    targets, aux_targets, test_targets : float arrays, shape (n,)
        Without noise.
    auxiliary, main : ReLUTeacher
    """

    inputs: Float[np.ndarray, "n d"]
    targets: Float[np.ndarray, " n"]
    aux_inputs: Float[np.ndarray, "a d"]
    aux_targets: Float[np.ndarray, " a"]
    test_inputs: Float[np.ndarray, "t d"]
    test_targets: Float[np.ndarray, " t"]
    auxiliary: ReLUTeacher
    main: ReLUTeacher


@door
@dataclass(frozen=True)
class ReLUTeachers:
    r"""Two ReLU tasks, an auxiliary and a main one, with related hidden units.

    With the rows :math:`W_i` of a random orthogonal matrix, the auxiliary teacher has the units
    :math:`W_1 \dots W_n`, and the main teacher

    .. math:: a_i W_i + \sqrt{1 - a_i^2}\, W_{n+i},

    so that :math:`a_i` is the correlation of main unit i with auxiliary unit i: 1 for a shared
    unit, 0 for a new one. Readouts are :math:`\pm 1/\sqrt{\text{units}}`, with signs drawn for
    either task on its own. Inputs are normal, each rescaled to :math:`|x|^2 = d`.

    Parameters
    ----------
    dimension : int, default 15
        d.
    units_aux : int, default 6
        n, the auxiliary teacher's units.
    correlations : sequence of float, default (1, 1, 1, 1, 1, 1)
        :math:`a_i`, one for each main unit, from -1 to 1; at most as many as auxiliary units.
    magnitude : float, default 1.0
        Multiplies the main readout.

    Raises
    ------
    InputError
        For no units, a correlation beyond 1, more main units than auxiliary ones, units that
        don't fit into the dimension, or a magnitude that is not above 0.

    Notes
    -----
    Lippl & Lindsey (NeurIPS 2024), where d = 15 and n = 6.

    Examples
    --------
    >>> teachers = ReLUTeachers(correlations=(1, 0.9, 0)).teachers(seed=0)
    >>> found = (teachers.main.hidden @ teachers.auxiliary.hidden[:3].T).diagonal()
    >>> (found.round(9) + 0.0).tolist()
    [1.0, 0.9, 0.0]
    """

    dimension: Count = 15
    units_aux: Count = 6
    correlations: Sequence[Real] | np.ndarray = (1.0,) * 6
    magnitude: Positive = 1.0

    def __post_init__(self) -> None:
        entries = np.atleast_1d(np.asarray(self.correlations, dtype=object)).ravel().tolist()
        require(
            len(entries) > 0 and all(is_finite(a) and abs(a) <= 1 for a in entries),
            "correlations are one or more numbers from -1 to 1",
            repr(self.correlations),
            "pass one for each main unit",
        )
        object.__setattr__(self, "correlations", tuple(float(a) for a in entries))
        require(
            self.units_main <= self.units_aux,
            "every main unit has an auxiliary unit to be correlated with",
            f"{self.units_main} correlations for {self.units_aux} auxiliary units",
            "raise units_aux, or leave out correlations",
        )
        new = max((i + 1 for i, a in enumerate(self.correlations) if abs(a) < 1), default=0)
        require(
            self.units_aux + new <= self.dimension,
            "auxiliary units and the new directions of main units are orthogonal",
            f"{self.units_aux + new} of them in {self.dimension} dimensions",
            "raise dimension, or put correlations of 1 last",
        )

    @property
    def units_main(self) -> int:
        """Return the number of the main teacher's units."""
        return len(self.correlations)

    @door
    def teachers(self, seed: Seed) -> ReLUTeacherPair:
        """Draw both teachers; the auxiliary one does not depend on correlations and magnitude.

        Parameters
        ----------
        seed : int
            At least 0.

        Returns
        -------
        ReLUTeacherPair
        """
        rng = np.random.default_rng([seed, UNITS])
        from scipy.stats import ortho_group  # half of the time of every import of the room

        rows = np.asarray(ortho_group.rvs(self.dimension, random_state=rng))
        n, a = self.units_aux, np.asarray(self.correlations)
        # Units of correlation 1 have no new direction, and there may be none left.
        new = np.zeros((len(a), self.dimension))
        left = rows[n : n + len(a)]
        new[: len(left)] = left
        main = a[:, None] * rows[: len(a)] + np.sqrt(1.0 - a**2)[:, None] * new
        scale = self.magnitude / sqrt(len(a))
        return ReLUTeacherPair(
            ReLUTeacher(rows[:n].copy(), _signs(seed, AUX_SIGNS, n) / sqrt(n)),
            ReLUTeacher(main, scale * _signs(seed, MAIN_SIGNS, len(a))),
        )

    @door
    def sample(
        self, seed: Seed, n_main: Index, n_aux: Index = 0, n_test: Index = 0
    ) -> ReLUTeacherSample:
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
        ReLUTeacherSample

        Raises
        ------
        InputError
            For a seed or a number of rows below 0.

        Examples
        --------
        >>> sample = ReLUTeachers().sample(seed=0, n_main=8, n_aux=1024)
        >>> sample.aux_inputs.shape, round(float((sample.inputs[0] ** 2).sum()), 9)
        ((1024, 15), 15.0)
        """
        pair = self.teachers(seed)
        main, auxiliary, test = (
            self._inputs(seed, stream, rows)
            for stream, rows in ((MAIN, n_main), (AUXILIARY, n_aux), (TEST, n_test))
        )
        return ReLUTeacherSample(
            main,
            pair.main(main),
            auxiliary,
            pair.auxiliary(auxiliary),
            test,
            pair.main(test),
            pair.auxiliary,
            pair.main,
        )

    def describe(self) -> str:
        """Return a description of the two teachers.

        Examples
        --------
        >>> print(ReLUTeachers(correlations=[1, 1, 0.9, 0]).describe())
        ReLU teachers: 6 auxiliary units and 4 main units in 15 dimensions, correlated 1, 1, 0.9, 0
        """
        scale = "" if self.magnitude == 1 else f", main readouts times {self.magnitude:g}"
        return (
            f"ReLU teachers: {_counted(self.units_aux, 'auxiliary unit')} and "
            f"{_counted(self.units_main, 'main unit')} in {self.dimension} dimensions, correlated "
            + ", ".join(f"{a:g}" for a in self.correlations)
            + scale
        )

    def _inputs(self, seed: Seed, stream: int, rows: int) -> np.ndarray:
        inputs = np.random.default_rng([seed, stream]).standard_normal((rows, self.dimension))
        inputs /= np.sqrt((inputs**2).mean(axis=1, keepdims=True))
        return inputs


def _signs(seed: Seed, stream: int, n: int) -> np.ndarray:
    return np.where(np.random.default_rng([seed, stream]).random(n) < 0.5, -1.0, 1.0)


def _counted(n: int, noun: str) -> str:
    return f"{n} {noun}" + ("" if n == 1 else "s")
