"""Test points of a structured identity task."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

import numpy as np
from jaxtyping import Float

from partwhole._checks import is_whole, require
from partwhole._door import door
from partwhole._types import Count, Real, Seed
from partwhole.tasks._identity_checks import Numbers, numbers
from partwhole.tasks.combinations import Combinations, combine
from partwhole.tasks.identity_sample import DIRECTIONS, TEST


class Probed(ABC):
    """Test points of a task, a part of `StructuredIdentity`."""

    means: Numbers
    scales_are: Literal["deviations", "variances"]

    @property
    @abstractmethod
    def n_concepts(self) -> int: ...

    @property
    @abstractmethod
    def n_dimensions(self) -> int: ...

    @property
    @abstractmethod
    def variances(self) -> Float[np.ndarray, " d"]: ...

    @property
    @abstractmethod
    def probe(self) -> Float[np.ndarray, " d"]: ...

    @abstractmethod
    def _draw(
        self, centre: np.ndarray, n: int, stream: tuple[int, ...], variances: np.ndarray
    ) -> np.ndarray: ...

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
        >>> from partwhole.tasks import StructuredIdentity
        >>> found = StructuredIdentity([1, 2, 3, 4], [0.5] * 4).combinations()
        >>> len(found.points), len(found.pairs)
        (16, 65)
        """
        return combine(np.array(self.means), self.n_dimensions)

    @door
    def scaled_probe(self, factor: Real) -> Float[np.ndarray, " d"]:
        """Return the probe times a finite factor: beyond the means for one above 1."""
        return factor * self.probe

    @door
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
        >>> from partwhole.tasks import StructuredIdentity
        >>> StructuredIdentity([1, 2], [0.05, 0.05]).negative_probe(1)
        array([ 1., -2.])
        """
        require(
            all(is_whole(p) and 0 <= p < self.n_concepts for p in concepts)
            and 0 < len(concepts) == len({*concepts}),
            f"the concepts to flip are among 0..{self.n_concepts - 1}, each once",
            ", ".join(map(str, concepts)) or "none",
            "name at least one",
        )
        signs = np.ones(self.n_dimensions)
        signs[list(concepts)] = -1.0
        return signs * self.probe

    @door
    def random_probes(self, n: Count, seed: Seed) -> Float[np.ndarray, "n d"]:
        """Draw points at the probe's distance, in uniform directions of the concepts' span.

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
        z = np.random.default_rng([seed, DIRECTIONS]).standard_normal((n, self.n_concepts))
        probes = np.zeros((n, self.n_dimensions))
        probes[:, : self.n_concepts] = z / np.linalg.norm(z, axis=1, keepdims=True)
        return probes * np.linalg.norm(self.probe)

    @door
    def test_cluster(
        self, n: Count, seed: Seed, *, scales: Numbers | None = None
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
        >>> from partwhole.tasks import StructuredIdentity
        >>> task = StructuredIdentity(means=[1, 2], scales=[0.05, 0.05])
        >>> task.test_cluster(1000, seed=0, scales=[0.0, 0.5]).mean(axis=0).round(1)
        array([1., 2.])
        """
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
