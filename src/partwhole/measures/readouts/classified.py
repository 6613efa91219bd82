"""Classifiers of held-out conditions, predicted and trained: a classifier for each component."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.linalg import block_diag

from partwhole._checks import require
from partwhole.measures._side_by_side import side_by_side
from partwhole.measures.readouts.answers import Answers
from partwhole.measures.readouts.lda import LDA
from partwhole.measures.readouts.means import Means, Trials
from partwhole.measures.readouts.svm import SVM
from partwhole.measures.readouts.targets import Labelled

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Classifiers:
    """Classifiers of trials, one for each component, trained without those that are held out.

    Parameters
    ----------
    kind : LDA or SVM
    features : float array, shape (n, p)
    index : int array, shape (n,)
        The condition of each trial.
    targets : float array, shape (T, k)
        Labels of each condition, as -1 and +1.
    labelled : list of (slice, int array)
        The columns of each component.
    """

    kind: LDA | SVM
    features: Float[np.ndarray, "n p"]
    index: Int[np.ndarray, " n"]
    targets: Float[np.ndarray, "T k"]
    labelled: Labelled

    def require_labels_without(self, sets: Bool[np.ndarray, "F T"]) -> None:
        """Require that trials of every label are left where a set is held out."""
        for _, values in self.labelled:
            of_label = np.eye(int(values.max()) + 1, dtype=int)[values]
            missing = np.flatnonzero(((~sets).astype(int) @ of_label == 0).any(axis=1))
            require(
                not len(missing),
                "a classifier is trained on trials of every label",
                f"none of some label where set {missing[0] if len(missing) else 0} is held out",
                "hold out fewer conditions together, or leave classifier out",
            )

    def answers(self, trials: Bool[np.ndarray, " n"]) -> Float[np.ndarray, "m k"]:
        """Return the answers to some trials of classifiers that were trained on all others.

        NaN of a hinge loss without scikit-learn.
        """
        answers, left = np.full((int(trials.sum()), self.targets.shape[1]), np.nan), ~trials
        for columns, _ in self.labelled:
            y = self.targets[self.index[left], columns]
            trained = self.kind.train(self.features[left], y)
            if trained is not None:
                answers[:, columns] = trained(self.features[trials])
        return answers

    def predicted(
        self,
        trials: Trials,
        sets: Bool[np.ndarray, "F T"],
        read: Callable[[Bool[np.ndarray, " T"], list[Answers]], T],
        products: Float[np.ndarray, "T T"] | None = None,
        threads: int = 1,
    ) -> Iterator[T]:
        """Yield what is read of the predicted answers without each set, as `answers_without`."""

        def solved(members: Bool[np.ndarray, " T"]) -> T:
            left = np.where(members, 0, trials.counts)
            measured = trials.training(left)
            means: list[Means] = [measured]
            if products is not None:
                means.append(measured.by_overlap(products))
            return read(members, [self._answers(of, left) for of in means])

        yield from side_by_side(solved, sets, threads)

    def _answers(self, means: Means, counts: Int[np.ndarray, " T"]) -> Answers:
        parts = [self.kind.answers(means, counts, self.targets[:, of]) for of, _ in self.labelled]
        errors = [part.error for part in parts if part.error is not None]
        return Answers(
            np.hstack([part.mean for part in parts]),
            _blocks([part.between for part in parts]),
            np.asarray(block_diag(*(part.within for part in parts))),
            error=_blocks(errors) if errors else None,
        )


def _blocks(covariances: Sequence[Float[np.ndarray, "T _ _"]]) -> Float[np.ndarray, "T k k"]:
    """Return covariances of several parts, those between parts being 0."""
    return np.array([block_diag(*parts) for parts in zip(*covariances, strict=True)])
