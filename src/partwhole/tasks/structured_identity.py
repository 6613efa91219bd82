r"""The structured identity task: clusters on the axes, one for each concept, tested at their sum.

A learner regresses the identity on clusters that each show one concept, and is asked for the
point that shows all of them at once. How soon a concept is learned rests on its signal, the
diagonal of the inputs' second moment.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._types import Real
from partwhole.tasks._combinations import Combinations, combine
from partwhole.tasks._identity_checks import Numbers, check, finite, numbers, whole
from partwhole.tasks._identity_sample import IdentitySample

# Random streams: what is drawn for one purpose doesn't move what is drawn for another.
SAMPLE, TEST, DIRECTIONS, ROTATION, CHECK = range(5)
CHECKED_DRAWS, LEAST_SHARE = 1000, 0.01


@dataclass(frozen=True)
class StructuredIdentity:
    r"""State a structured identity task: reproduce the input, having seen each concept alone.

    Cluster p holds :math:`x = \mu_p e_p + \mathrm{diag}(\sigma) z` with standard normal z. The
    clusters weigh the same and share one covariance; targets are the inputs. Everything here is
    in the concept frame, in which concept p lies along axis p, except the inputs of a sample:
    these are what the learner sees, rotated if the task is.

    Parameters
    ----------
    means : sequence of float, length s
        :math:`\mu_p`, where cluster p lies on axis p.
    scales : sequence of float, length s
        :math:`\sigma_p`, the spread of every cluster along axis p; at least 0.
    dimension : int, default None
        d, at least s; None for s.
    samples : int, default 5000
        Training samples in each cluster.
    origin : bool, default False
        Add a cluster at the origin, the last one; the published two-concept runs have it.
    rotation : int, default None
        Seed of an orthogonal matrix, uniform over all of them, that turns training and test
        inputs alike; None for no rotation.
    truncation : float, default None
        Training samples nearer than this to the probe are drawn again until they are not, so
        that clusters keep their size; None to keep all. The published radius is half the
        smallest mean.
    noise : float, default 0.0
        Spread along each of the d - s axes beyond the concepts.
    scales_are : {"deviations", "variances"}, default "deviations"
        What `scales` and `noise` are. The published text says standard deviations, the published
        network runs use the same numbers as variances.

    Raises
    ------
    InputError
        For means and scales of different number or not finite, negative scales, a dimension
        below s, noise without an axis to act on, no samples, or a truncation that (nearly)
        empties a cluster: one that less than 1 of 100 draws survive.

    Notes
    -----
    Yang et al. (ICLR 2025), the structured identity mapping task.

    Examples
    --------
    >>> task = StructuredIdentity(means=[1, 2], scales=[0.05, 0.05])
    >>> task.signals, task.probe
    (array([0.5025, 2.0025]), array([1., 2.]))
    >>> published = StructuredIdentity([1, 2], [0.05, 0.05], origin=True, scales_are="variances")
    >>> published.signals.round(7)
    array([0.3833333, 1.3833333])
    """

    means: Numbers
    scales: Numbers
    dimension: int | None = None
    samples: int = 5000
    origin: bool = False
    rotation: int | None = None
    truncation: Real | None = None
    noise: Real = 0.0
    scales_are: Literal["deviations", "variances"] = "deviations"

    def __post_init__(self) -> None:
        for name in ("means", "scales"):
            object.__setattr__(self, name, numbers(name, getattr(self, name)))
        if self.dimension is None:
            object.__setattr__(self, "dimension", len(self.means))
        check(self)
        if self.truncation is not None:
            self._check_truncation(self.truncation)

    def _check_truncation(self, radius: Real) -> None:
        for cluster, centre in enumerate(self.centres):
            drawn = self._draw(centre, CHECKED_DRAWS, (0, CHECK, cluster, 0))
            share = 1.0 - self._too_near(drawn).mean()
            require(
                share >= LEAST_SHARE,
                "truncation leaves room for every cluster to be sampled",
                f"radius {radius:g}, which {share:.1%} of the draws of cluster {cluster} survive",
                "take a smaller radius",
            )

    @property
    def n_concepts(self) -> int:
        """Return the number of concepts s."""
        return len(self.means)

    @property
    def n_dimensions(self) -> int:
        """Return the dimension d of inputs and outputs."""
        return self.n_concepts if self.dimension is None else self.dimension

    @property
    def n_clusters(self) -> int:
        """Return the number of clusters m: s, or s + 1 with the one at the origin."""
        return self.n_concepts + bool(self.origin)

    @property
    def n_samples(self) -> int:
        """Return the number of training samples, of all clusters together."""
        return self.n_clusters * self.samples

    @property
    def variances(self) -> Float[np.ndarray, " d"]:
        """Return the variance that every cluster has along each axis."""
        beyond = [self.noise] * (self.n_dimensions - self.n_concepts)
        scales = np.array([*self.scales, *beyond])
        return scales if self.scales_are == "variances" else scales**2

    @property
    def centres(self) -> Float[np.ndarray, "m d"]:
        """Return the means of the clusters, the origin last where it is one."""
        centres = np.zeros((self.n_clusters, self.n_dimensions))
        centres[range(self.n_concepts), range(self.n_concepts)] = self.means
        return centres

    @property
    def probe(self) -> Float[np.ndarray, " d"]:
        """Return the test point, the sum of the clusters' means."""
        return self.centres.sum(axis=0)

    @property
    def signals(self) -> Float[np.ndarray, " d"]:
        r"""Return :math:`a_p = \sigma_p^2 + \mu_p^2/m`, the diagonal of the second moment."""
        return np.diagonal(self.second_moment()).copy()

    def second_moment(self, *, clusters: int | None = None) -> Float[np.ndarray, "d d"]:
        r"""Return the population's :math:`A = E[x x^\top]`, the mean not subtracted.

        It is diagonal, with :math:`a_p = \sigma_p^2 + \mu_p^2/m` for the concepts and the
        variance of the noise beyond them.

        Parameters
        ----------
        clusters : int, keyword-only, default None
            m, the clusters that the means are averaged over; None for as many as there are.
            The published text takes the number of concepts where the runs had the origin too.

        Returns
        -------
        float array, shape (d, d)

        Raises
        ------
        InputError
            For clusters below 1, and for a truncated task, whose moments are known only from a
            sample.

        Notes
        -----
        Yang et al. (ICLR 2025), there with m = s.

        Examples
        --------
        >>> task = StructuredIdentity(means=[1, 2], scales=[0.05, 0.05], origin=True)
        >>> task.second_moment(clusters=2)
        array([[0.5025, 0.    ],
               [0.    , 2.0025]])
        """
        self._refuse_truncation("second moment", "second_moment")
        m = self.n_clusters if clusters is None else clusters
        whole("clusters", m, 1, "leave it None for as many as there are")
        return np.diag(self.variances + self.probe**2 / m)

    def mean(self) -> Float[np.ndarray, " d"]:
        """Return the population mean of the inputs, unless the task is truncated."""
        self._refuse_truncation("mean", "mean")
        return self.centres.mean(axis=0)

    def _refuse_truncation(self, moment: str, name: str) -> None:
        require(
            self.truncation is None,
            f"the {moment} of a truncated task is known only from a sample",
            f"truncation {self.truncation}",
            f"use task.sample(seed).{name}()",
        )

    def sample(self, seed: int) -> IdentitySample:
        """Draw a training set, cluster after cluster.

        Clusters, noise and redrawn samples have random streams of their own: with the same seed,
        another scale, noise, rotation, truncation or a cluster at the origin leaves everything
        else as it was, and larger clusters begin with the samples of smaller ones.

        Parameters
        ----------
        seed : int
            At least 0.

        Returns
        -------
        IdentitySample
            With inputs as the learner sees them.

        Examples
        --------
        >>> task = StructuredIdentity([1, 2], [0.05, 0.05], dimension=64, samples=100, rotation=0)
        >>> sample = task.sample(seed=0)
        >>> sample.inputs.shape, sample.mean()[:2].round(2)
        ((200, 64), array([0.5, 1. ]))
        """
        whole("seed", seed, 0, "pass a whole number")
        points = np.concatenate(
            [self._cluster(centre, (seed, SAMPLE, c)) for c, centre in enumerate(self.centres)]
        )
        clusters = np.repeat(np.arange(self.n_clusters), self.samples)
        return IdentitySample(self.to_inputs(points), clusters, self)

    def _cluster(self, centre: np.ndarray, stream: tuple[int, ...]) -> np.ndarray:
        points = self._draw(centre, self.samples, (*stream, 0))
        if self.truncation is None:
            return points
        near, turn = np.flatnonzero(self._too_near(points)), 0
        # Ends, because at the door a fair share of the draws was outside.
        while len(near):
            turn += 1
            points[near] = self._draw(centre, len(near), (*stream, turn))
            near = near[self._too_near(points[near])]
        return points

    def _draw(
        self,
        centre: np.ndarray,
        n: int,
        stream: tuple[int, ...],
        variances: np.ndarray | None = None,
    ) -> np.ndarray:
        s = self.n_concepts
        deviations = np.sqrt(self.variances if variances is None else variances)
        points = np.tile(centre, (n, 1))
        for place, part in enumerate((slice(0, s), slice(s, None))):
            if deviations[part].any():
                z = np.random.default_rng([*stream, place]).standard_normal(points[:, part].shape)
                points[:, part] += deviations[part] * z
        return points

    def _too_near(self, points: np.ndarray) -> np.ndarray:
        return np.linalg.norm(points - self.probe, axis=1) < (self.truncation or 0.0)

    @cached_property
    def rotation_matrix(self) -> Float[np.ndarray, "d d"]:
        """Return the orthogonal R whose row p is the direction in which the learner sees axis p.

        Uniform over all orthogonal matrices (Haar), reflections included; the identity for a
        task without rotation. Read-only.
        """
        d = self.n_dimensions
        matrix = np.eye(d)
        if self.rotation is not None:
            gaussian = np.random.default_rng([self.rotation, ROTATION]).standard_normal((d, d))
            q, r = np.linalg.qr(gaussian)
            # Uniform only once the factorisation is made unique, with a positive diagonal in r.
            matrix = q * np.where(np.diagonal(r) < 0, -1.0, 1.0)
        matrix.flags.writeable = False
        return matrix

    def to_inputs(self, points: Float[np.ndarray, "*k d"]) -> Float[np.ndarray, "*k d"]:
        """Return points of the concept frame as the learner sees them.

        Parameters
        ----------
        points : float array, shape (..., d)

        Raises
        ------
        InputError
            If the points have another dimension than the task.
        """
        return self._turned(points, self.rotation_matrix)

    def to_concepts(self, outputs: Float[np.ndarray, "*k d"]) -> Float[np.ndarray, "*k d"]:
        """Return what the learner sees or answers in the concept frame, the rotation undone.

        Parameters
        ----------
        outputs : float array, shape (..., d)

        Raises
        ------
        InputError
            If the outputs have another dimension than the task.
        """
        return self._turned(outputs, self.rotation_matrix.T)

    def _turned(self, points: np.ndarray, matrix: np.ndarray) -> np.ndarray:
        require(
            points.ndim >= 1 and points.shape[-1] == self.n_dimensions,
            f"points lie in the task's {self.n_dimensions} dimensions",
            f"shape {points.shape}",
            "pass one point, or one row for each",
        )
        return points.copy() if self.rotation is None else points @ matrix

    def combinations(self) -> Combinations:
        r"""Return every combination of the concepts, with the order among them.

        Combination :math:`v \in \{0, 1\}^s` is the point :math:`\sum_p v_p \mu_p e_p`; u is below
        v when v has every concept of u.

        Returns
        -------
        Combinations
            In the order of binary numbers, the first concept leading: the origin comes first,
            the probe last.

        Raises
        ------
        InputError
            For more than 12 concepts.

        Notes
        -----
        Yang et al. (ICLR 2025), figure 7. There are :math:`3^s - 2^s` pairs: each concept is in
        neither, in v alone or in both, less the pairs of a combination with itself.

        Examples
        --------
        >>> found = StructuredIdentity([1, 2, 3, 4], [0.5] * 4).combinations()
        >>> len(found.points), len(found.pairs)
        (16, 65)
        """
        return combine(np.array(self.means), self.n_dimensions)

    def scaled_probe(self, factor: Real) -> Float[np.ndarray, " d"]:
        """Return the probe times a finite factor: beyond the means for one above 1."""
        require(finite(factor), "the factor is a finite number", repr(factor), "pass 2, say")
        return factor * self.probe

    def negative_probe(self, *concepts: int) -> Float[np.ndarray, " d"]:
        """Return the probe with the sign of some concepts flipped.

        Parameters
        ----------
        *concepts : int
            Indices in 0..s-1, at least one, each once.

        Raises
        ------
        InputError
            For no concept, an unknown one, or one named twice.

        Examples
        --------
        >>> StructuredIdentity([1, 2], [0.05, 0.05]).negative_probe(1)
        array([ 1., -2.])
        """
        require(
            set(concepts) <= set(range(self.n_concepts)) and 0 < len(concepts) == len({*concepts}),
            f"the concepts to flip are among 0..{self.n_concepts - 1}, each named once",
            ", ".join(map(str, concepts)) or "none",
            "name at least one",
        )
        signs = np.ones(self.n_dimensions)
        signs[list(concepts)] = -1.0
        return signs * self.probe

    def random_probes(self, n: int, seed: int) -> Float[np.ndarray, "n d"]:
        """Draw points as far out as the probe, in uniform directions of the concepts' span.

        Parameters
        ----------
        n : int
        seed : int
            At least 0; the same seed with a larger n begins with the same points.

        Returns
        -------
        float array, shape (n, d)
            Of the probe's norm, 0 along the axes beyond the concepts.

        Raises
        ------
        InputError
            For n below 1 or a seed below 0.
        """
        whole("n", n, 1, "ask for some probes")
        whole("seed", seed, 0, "pass a whole number")
        z = np.random.default_rng([seed, DIRECTIONS]).standard_normal((n, self.n_concepts))
        probes = np.zeros((n, self.n_dimensions))
        probes[:, : self.n_concepts] = z / np.linalg.norm(z, axis=1, keepdims=True)
        return probes * np.linalg.norm(self.probe)

    def test_cluster(
        self, n: int, seed: int, *, scales: Numbers | None = None
    ) -> Float[np.ndarray, "n d"]:
        """Draw points around the probe, spread as a training cluster is; never truncated.

        Parameters
        ----------
        n : int
        seed : int
            At least 0.
        scales : sequence of float, length s, keyword-only, default None
            Another spread along the concepts, in the meaning of `scales_are`; None for the
            task's own. The noise beyond them is the task's.

        Returns
        -------
        float array, shape (n, d)
            In the concept frame; `to_inputs` shows them to the learner.

        Raises
        ------
        InputError
            For n below 1, a seed below 0, or scales that the task would not accept.

        Examples
        --------
        >>> task = StructuredIdentity(means=[1, 2], scales=[0.05, 0.05])
        >>> task.test_cluster(1000, seed=0, scales=[0.0, 0.5]).mean(axis=0).round(1)
        array([1., 2.])
        """
        whole("n", n, 1, "ask for some points")
        whole("seed", seed, 0, "pass a whole number")
        variances = self.variances
        if scales is not None:
            spread = np.array(numbers("scales", scales))
            require(
                len(spread) == self.n_concepts and bool((spread >= 0).all()),
                f"a test cluster has {self.n_concepts} scales of at least 0, one for each concept",
                f"{spread.tolist()}",
                "leave them out for the task's own",
            )
            variances[: len(spread)] = spread if self.scales_are == "variances" else spread**2
        return self._draw(self.probe, n, (seed, TEST, 0, 0), variances)

    def describe(self) -> str:
        """Say in words what is learned, from what, and what is asked.

        Examples
        --------
        >>> task = StructuredIdentity([1, 2], [0.05, 0.05], dimension=64, origin=True, rotation=0)
        >>> print(task.describe())
        structured identity: 2 concepts in 64 dimensions, rotated
        15000 samples in 3 clusters, one for each concept and one at the origin
        concept 1: mean 1, deviation 0.05, signal 0.3358
        concept 2: mean 2, deviation 0.05, signal 1.336
        tested at the sum of the means, never seen: (1, 2)
        """
        s, d = self.n_concepts, self.n_dimensions
        known = self.truncation is None
        signals = [f", signal {a:.4g}" for a in self.signals] if known else [""] * s
        deviations = np.sqrt(self.variances)
        lines = [
            f"structured identity: {_counted(s, 'concept')} in {_counted(d, 'dimension')}"
            + (", rotated" if self.rotation is not None else ""),
            f"{self.n_samples} samples in {_counted(self.n_clusters, 'cluster')}, one for each "
            "concept" + (" and one at the origin" if self.origin else ""),
            *(
                f"concept {p + 1}: mean {self.means[p]:g}, deviation {deviations[p]:.4g}"
                + signals[p]
                for p in range(s)
            ),
        ]
        if self.noise:
            beyond = _counted(d - s, "further dimension")
            lines.append(f"noise of deviation {deviations[-1]:.4g} along {beyond}")
        if not known:
            lines.append(
                f"training samples nearer than {self.truncation:g} to the test point are drawn "
                "again, so signals are known only from a sample"
            )
        point = ", ".join(f"{mean:g}" for mean in self.means)
        return "\n".join([*lines, f"tested at the sum of the means, never seen: ({point})"])


def _counted(n: int, what: str) -> str:
    return f"{n} {what}" + ("" if n == 1 else "s")
