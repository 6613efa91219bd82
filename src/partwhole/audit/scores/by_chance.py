"""How much worse several components predict test where held-out combinations are drawn at random.

Training lacks the held-out combinations, and so what they have in common with a target: where a
component is the target, the values of all others go with any target but that of the held-out row.
Their prediction fails in any test of this kind. Derived here.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Int

from partwhole.audit.scores.labels import LabelScores
from partwhole.audit.scores.numbers import NumberScores
from partwhole.audit.scores.score import Score, is_seen
from partwhole.features.conjunctions import Dictionary

# Choices of held-out combinations, and rows of all of them together: two seconds.
DRAWS, MOST_ROWS = 20, 2e6
# Combinations of a value, on average, above which those that are held out make no difference.
MOST_COMBINATIONS = 20.0
ROUNDING = 1e-9


class ByChance:
    """Scores of as many held-out combinations, drawn from them and those of training.

    Parameters
    ----------
    scores : LabelScores or NumberScores
        Of the split as it is. Rows of test whose combination training has stay in test.
    """

    def __init__(self, scores: LabelScores | NumberScores) -> None:
        self._scores = scores

    def finds(self, subset: tuple[int, ...], effect: float) -> bool:
        """Return whether components predict training by an effect, and mislead."""
        scores = self._scores.scores(subset)
        return any(item.gain >= effect and self.misleads(subset, item) for item in scores)

    def misleads(self, subset: tuple[int, ...], score: Score) -> bool:
        """Return whether a score of the split misleads, several components more than by chance.

        Of a single component, the choice of combinations is what misleads.
        """
        if not score.misleads():
            return False
        drops = self.drops(subset, score)
        return not drops or (
            score.misleads(float(np.mean(drops))) and score.drop > max(drops) + ROUNDING
        )

    def drops(self, subset: tuple[int, ...], score: Score) -> list[float]:
        """Return by how much each choice predicts test worse; none for a single component."""
        if len(subset) < 2 or self._are_many(subset):
            return []
        drops = []
        for scores in self._drawn:
            candidates = list(scores.scores(subset))
            alike = [item for item in candidates if item.at_values == score.at_values]
            drops += [item.drop for item in (alike or candidates)[:1]]
        return drops

    def _are_many(self, subset: tuple[int, ...]) -> bool:
        case, pool = self._scores.case, np.unique(self._combination)
        n_values = Dictionary.of(case.task.components[pool], subset, case.table.n_values)[0].size
        return len(pool) > MOST_COMBINATIONS * n_values

    @cached_property
    def _rows(self) -> Int[np.ndarray, " r"]:
        """Return the rows of training, and of held-out combinations."""
        scores = self._scores
        return np.concatenate([scores.train, scores.test[~self._seen]])

    @cached_property
    def _seen(self) -> Bool[np.ndarray, " s"]:
        return is_seen(self._scores.case, self._scores.test)

    @cached_property
    def _combination(self) -> Int[np.ndarray, " r"]:
        return self._scores.case.row_combination[self._rows]

    @cached_property
    def _drawn(self) -> list[LabelScores | NumberScores]:
        return list(self._draw())

    def _draw(self) -> Iterator[LabelScores | NumberScores]:
        scores = self._scores
        combinations = np.unique(self._combination)
        n_held_out = len(np.unique(scores.case.row_combination[scores.test[~self._seen]]))
        if not n_held_out:
            return
        rng = np.random.default_rng(0)
        n_rows = len(self._rows) + np.count_nonzero(self._seen)
        for _ in range(int(np.clip(MOST_ROWS / n_rows, 2, DRAWS))):
            chosen = rng.choice(combinations, n_held_out, replace=False)
            is_chosen = np.isin(self._combination, chosen)
            train = self._rows[~is_chosen]
            test = np.concatenate([scores.test[self._seen], self._rows[is_chosen]])
            if isinstance(scores, LabelScores):
                test = test[np.isin(scores.label[test], scores.label[train])]
            if len(train) and len(test):
                yield type(scores).of(scores.case, train, test)
