"""Coverage against counting by hand over sets of tuples."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole.audit.case import AuditTable, Case
from partwhole.audit.coverage import coverage


def table(rng, n_values, n):
    components = np.stack([rng.integers(0, v, n) for v in n_values], axis=1)
    split = rng.integers(0, 2, n)
    split[:2] = [0, 1]
    return AuditTable(
        components,
        rng.normal(size=(n, 1)),
        None,
        split,
        np.ones(n),
        tuple(f"part {c}" for c in range(len(n_values))),
        tuple(tuple(range(v)) for v in n_values),
        ("y",),
        None,
        ("train", "test"),
    )


def joined(train):
    """Merge the values of each row until nothing changes."""
    parts: list[set] = []
    for row in train:
        new = set(enumerate(row))
        apart = [part for part in parts if not part & new]
        for part in parts:
            if part & new:
                new |= part
        parts = [*apart, new]
    return parts


@pytest.mark.parametrize("seed", range(30))
def test_coverage_counts_as_by_hand(seed):
    rng = np.random.default_rng(seed)
    n_components = int(rng.integers(1, 5))
    n_values = rng.integers(2, 7, n_components).tolist()
    given = table(rng, n_values, int(rng.integers(3, 30)))
    case = given.case(1, 1)
    train = {tuple(row) for row in given.components[given.split == 0].tolist()}
    held_out = {tuple(row) for row in given.components[given.split == 1].tolist()} - train
    found = coverage(case)

    parts = joined(train)
    assert found.n_graph_components == len(parts)
    of_part: dict[int, int] = {}
    places = iter(found.values)
    for c, n in enumerate(n_values):
        for v in range(n):
            entry = next(places)
            assert (entry.component, entry.value) == (c, v)
            mine = [row for row in train if row[c] == v]
            assert entry.n_train == len(mine)
            assert entry.n_test == sum(row[c] == v for row in held_out)
            assert entry.partners == len({p for row in mine for p in enumerate(row)} - {(c, v)})
            inside = [number for number, part in enumerate(parts) if (c, v) in part]
            assert (entry.graph_component == -1) == (not inside)
            if inside:
                assert of_part.setdefault(entry.graph_component, inside[0]) == inside[0]
    assert sorted(of_part) == list(range(len(parts)))
    assert list(of_part) == sorted(of_part)
    assert len(set(of_part.values())) == len(parts)

    missing = {
        (c, row[c])
        for row in held_out
        for c in range(n_components)
        if not any(other[c] == row[c] for other in train)
    }
    assert {(u.component, u.value) for u in found.unseen_values} == missing
    for unseen in found.unseen_values:
        rows = np.flatnonzero(
            (given.split == 1) & (given.components[:, unseen.component] == unseen.value)
        )
        assert unseen.rows.tolist() == rows.tolist()


def test_two_blocks_are_two_graph_components():
    rows = np.array([[0, 0], [0, 1], [1, 1], [2, 2], [0, 2]])
    split = np.array([0, 0, 0, 0, 1])
    given = AuditTable(
        rows,
        np.zeros((5, 1)),
        None,
        split,
        np.ones(5),
        ("a", "b"),
        ((0, 1, 2), (0, 1, 2)),
        ("y",),
        None,
        ("train", "test"),
    )
    found = coverage(given.case(1, 1))
    assert found.n_graph_components == 2
    assert [v.graph_component for v in found.values] == [0, 0, 1, 0, 0, 1]
    assert [v.partners for v in found.values] == [2, 1, 1, 1, 2, 1]


def test_many_unseen_values_are_looked_up_at_once(monkeypatch):
    # 2,000 values that training lacks: rows are searched once a component, not once a value.
    n = 4000
    components = np.stack([np.arange(n), np.arange(n)[::-1]], axis=1)
    split = (np.arange(n) % 2).astype(int)
    values = (tuple(range(n)),) * 2
    told = AuditTable(
        components,
        np.zeros((n, 1)),
        None,
        split,
        np.ones(n),
        ("a", "b"),
        values,
        ("y",),
        None,
        ("train", "test"),
    )
    searches = []
    plain = Case.rows_of

    def counted(self, combinations):
        searches.append(len(combinations))
        return plain(self, combinations)

    monkeypatch.setattr(Case, "rows_of", counted)
    found = coverage(told.case(1, 1))
    assert searches == [2000, 2000]
    assert len(found.unseen_values) == 4000
    for one in found.unseen_values[::97]:
        assert components[one.rows, one.component].tolist() == [one.value]
        assert split[one.rows].tolist() == [1]
