"""A factor that goes with the target in a share of the training rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from partwhole._checks import require
from partwhole.audit.designing.parts import even_parts

# Rows of a training combination, so that a component goes with the target in a share of them.
MOST_COPIES = 1000


@dataclass(frozen=True)
class Pull:
    """A factor that goes with the target in a share of the training rows."""

    factor: int
    target: int
    share: float
    n_values: tuple[int, ...]

    def goes(self, rows: Int[np.ndarray, "n C"]) -> Bool[np.ndarray, " n"]:
        """Return whether the factor's value goes with the target in each row."""
        return np.equal(rows[:, self.factor] % self.n_values[self.target], rows[:, self.target])

    def rows(self, reference: Int[np.ndarray, " C"]) -> Int[np.ndarray, "m C"]:
        """Return for each target a combination with a value that goes with it, and another."""
        rows = []
        for label in range(self.n_values[self.target]):
            for value in (label, (label + 1) % self.n_values[self.factor]):
                row = reference.copy()
                row[self.target], row[self.factor] = label, value
                rows.append(row)
        return np.array(rows)

    def is_missing(
        self, train: Int[np.ndarray, "n C"], extra: Int[np.ndarray, "m C"]
    ) -> Bool[np.ndarray, " m"]:
        """Return of which of these combinations training lacks the kind, by target."""
        kinds = {
            *zip(train[:, self.target].tolist(), self.goes(train).tolist(), strict=True),
        }
        of = zip(extra[:, self.target].tolist(), self.goes(extra).tolist(), strict=True)
        return np.array([kind not in kinds for kind in of], dtype=bool)

    def arranged(
        self,
        grid: Int[np.ndarray, "N C"],
        free: Int[np.ndarray, " f"],
        h: int,
        rng: np.random.Generator,
    ) -> Int[np.ndarray, " f"]:
        """Return free combinations at random, the first h with labels as equal as can be.

        Of these as many go with the target as by chance.
        """
        free = rng.permutation(free)
        label, goes = grid[free, self.target], self.goes(grid[free])
        kinds = [
            (free[(label == i) & goes], free[(label == i) & ~goes])
            for i in rng.permutation(self.n_values[self.target]).tolist()
        ]
        of_label = even_parts([len(a) + len(b) for a, b in kinds], h)
        most = [min(len(a), n) for (a, _), n in zip(kinds, of_label, strict=True)]
        going = even_parts(most, min(h // self.n_values[self.target], sum(most)))
        first = []
        for (a, b), n, n_going in zip(kinds, of_label, going, strict=True):
            n_with = max(n_going, n - len(b))
            first += [a[:n_with], b[: n - n_with]]
        chosen = np.concatenate(first)
        return np.concatenate([chosen, np.setdiff1d(free, chosen)])

    def copies(self, train: Int[np.ndarray, "n C"]) -> Int[np.ndarray, " n"]:
        """Return how often each combination is repeated."""
        copies = np.ones(len(train), dtype=np.int64)
        goes = self.goes(train)
        for label in range(self.n_values[self.target]):
            with_label = train[:, self.target] == label
            n_with, n_without = int((with_label & goes).sum()), int((with_label & ~goes).sum())
            ratio = self.share / (1.0 - self.share) * n_without / n_with
            which, times = (goes, ratio) if ratio >= 1.0 else (~goes, 1.0 / ratio)
            # Both in a few copies, so that shares are near even where the ratio is not whole.
            base = int(np.clip(np.ceil(8.0 / times), 1, 8))
            copies[with_label] = base
            copies[with_label & which] = min(MOST_COPIES, max(1, round(base * times)))
        return copies


def pull_of(
    shortcut: Mapping[str, float] | None,
    names: tuple[str, ...],
    n_values: tuple[int, ...],
    target: int,
) -> Pull | None:
    if not shortcut:
        return None
    require(len(shortcut) == 1, "a shortcut is one factor", f"{len(shortcut)}", "pass one of them")
    ((name, share),) = shortcut.items()
    others = [factor for i, factor in enumerate(names) if i != target]
    require(
        name in others,
        "a shortcut is a factor other than the target",
        repr(name),
        f"name one of {', '.join(others)}",
    )
    factor = names.index(name)
    require(
        n_values[factor] >= n_values[target],
        "a shortcut has as many values as the target, or more",
        f"{n_values[factor]} for {n_values[target]} targets",
        "name another factor, or another target",
    )
    least = 1.0 / n_values[target]
    require(
        least < share <= 0.99,
        f"the share of a shortcut is above that of chance, {least:.3g}, and at most 0.99",
        share,
        "pass such as 0.9",
    )
    return Pull(factor, target, float(share), n_values)
