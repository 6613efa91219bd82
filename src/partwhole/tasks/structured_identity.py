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
from partwhole._door import door
from partwhole._types import Count, NonNegative, Positive, Real, Seed
from partwhole.tasks._identity_checks import Numbers, check, coordinates, numbers
from partwhole.tasks._identity_probes import Probed
from partwhole.tasks.identity_sample import CHECK, ROTATION, SAMPLE, IdentitySample

CHECKED_DRAWS, LEAST_SHARE = 1000, 0.01


@door
@dataclass(frozen=True)
class StructuredIdentity(Probed):
    r"""Structured identity task: reproduce the input after seeing each concept alone.

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
    samples: Count = 5000
    origin: bool = False
    rotation: Seed | None = None
    truncation: Positive | None = None
    noise: NonNegative = 0.0
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

    @door
    def second_moment(self, *, clusters: Count | None = None) -> Float[np.ndarray, "d d"]:
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
        return np.diag(self.variances + self.probe**2 / m)

    def mean(self) -> Float[np.ndarray, " d"]:
        """Return the population mean of the inputs, unless the task is truncated."""
        self._refuse_truncation("mean", "mean")
        return self.centres.mean(axis=0)

    def _refuse_truncation(self, moment: str, name: str) -> None:
        require(
            self.truncation is None,
            f"the {moment} of a truncated task can be estimated only from a sample",
            f"truncation {self.truncation}",
            f"use task.sample(seed).{name}()",
        )

    @door
    def sample(self, seed: Seed) -> IdentitySample:
        """Draw a training set, one cluster after another.

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
        points = np.concatenate(
            [self._cluster(centre, (seed, SAMPLE, c)) for c, centre in enumerate(self.centres)]
        )
        clusters = np.repeat(np.arange(self.n_clusters), self.samples)
        return IdentitySample(self.to_inputs(points), clusters, self)

    def _cluster(self, centre: np.ndarray, stream: tuple[int, ...]) -> np.ndarray:
        points = self._draw(centre, self.samples, (*stream, 0))
        if self.truncation is None:
            return points
        crowded, turn = np.flatnonzero(self._too_near(points)), 0
        # Ends, because at the door a fair share of the draws was outside.
        while len(crowded):
            turn += 1
            points[crowded] = self._draw(centre, len(crowded), (*stream, turn))
            crowded = crowded[self._too_near(points[crowded])]
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

    @door
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

    @door(missing=("outputs",))
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

    def _turned(self, points: object, matrix: np.ndarray) -> np.ndarray:
        rows = coordinates(points, self.n_dimensions)
        return rows.copy() if self.rotation is None else rows @ matrix

    def describe(self) -> str:
        """Return a description of the training set, the target and the test point.

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
        facts = self.truncation is None
        signals = [f", signal {a:.4g}" for a in self.signals] if facts else [""] * s
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
        if not facts:
            lines.append(
                f"training samples nearer than {self.truncation:g} to the test point are drawn "
                "again, so signals are known only from a sample"
            )
        point = ", ".join(f"{mean:g}" for mean in self.means)
        return "\n".join([*lines, f"tested at the sum of the means, never seen: ({point})"])


def _counted(n: int, noun: str) -> str:
    return f"{n} {noun}" + ("" if n == 1 else "s")
