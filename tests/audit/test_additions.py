"""Recommended additions against trying every one from scratch, by other formulas."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from partwhole._checks import InputError
from partwhole.audit.additions import candidates as choosing
from partwhole.audit.additions import search as module
from partwhole.audit.additions.candidates import unseen_combinations
from partwhole.audit.additions.search import OBJECTIVE, additions
from partwhole.audit.case import AuditTable
from partwhole.features.conjunctions import conjunction_sets
from partwhole.features.order_kernel import OrderKernel
from partwhole.limits.proofs.determination import determination

# Rounding of inverses and eigenvalues in matrices of at most a hundred columns, with a memory of
# a tenth.
CLOSE = 1e-8


def case_of(components, split, order, targets=None):
    components, split = np.asarray(components), np.asarray(split).astype(int)
    n_values = components.max(axis=0) + 1
    y = np.zeros(len(split)) if targets is None else targets
    return AuditTable(
        components,
        y[:, None],
        None,
        split,
        np.ones(len(split)),
        tuple(f"part {c}" for c in range(components.shape[1])),
        tuple(tuple(range(n)) for n in n_values),
        ("y",),
        None,
        ("train", "test"),
    ).case(1, order)


def grid(*n_values):
    return np.stack(np.unravel_index(np.arange(np.prod(n_values)), n_values), axis=1)


def random_case(seed, shares=(0.35, 0.35)):
    rng = np.random.default_rng(seed)
    n_values = rng.integers(2, 5, rng.integers(2, 4))
    components = grid(*n_values)
    draw = rng.random(len(components))
    split = np.where(draw < shares[0], 0, np.where(draw < sum(shares), 1, -1))
    split[rng.permutation(len(split))[:3]] = [0, 0, 1]
    return case_of(components, split, len(n_values) - 1, rng.normal(size=len(split)))


def recommended(case, add, **options):
    found = determination(case.task, max_order=case.order)
    return additions(case, found, add=add, **options)


def indicators(rows, order, n_values):
    """Return the dense indicators of all conjunctions up to an order, seen or not."""
    columns = [
        np.all(rows[:, chosen] == values, axis=1)
        for chosen in conjunction_sets(rows.shape[1], order)
        for values in product(*(range(n_values[c]) for c in chosen))
    ]
    return np.stack(columns, axis=1).astype(float)


def is_determined(train, held_out, order, n_values):
    a, b = indicators(train, order, n_values), indicators(held_out, order, n_values)
    left = b - b @ np.linalg.pinv(a, rcond=1e-10) @ a
    return np.linalg.norm(left, axis=1) < 1e-8


def similarity(kernel, a, b):
    """Return the kernel without its memory, set by set."""
    return sum(
        weight * np.all(a[:, None, list(chosen)] == b[None][:, :, list(chosen)], axis=2)
        for chosen, weight in kernel.weights.items()
    )


def left_over(kernel, train, old, asked):
    """Return prior and posterior covariance of sums, less the mean over the old training rows.

    By kriging: with the kernel matrix, its memory as noise and an unknown constant.
    """
    every = np.concatenate([asked, old])
    contrast = np.hstack([np.eye(len(asked)), np.full((len(asked), len(old)), -1.0 / len(old))])
    prior = similarity(kernel, every, every)
    n = len(train)
    system = np.ones((n + 1, n + 1))
    system[:n, :n] = similarity(kernel, train, train) + kernel.memory * np.eye(n)
    system[n, n] = 0.0
    cross = np.hstack([similarity(kernel, every, train), np.ones((len(every), 1))])
    after = prior - cross @ np.linalg.solve(system, cross.T)
    return contrast @ prior @ contrast.T, contrast @ after @ contrast.T, after[: len(asked)]


def eigenvalue(kernel, train, old, asked):
    prior, after, _ = left_over(kernel, train, old, asked)
    size, basis = np.linalg.eigh(prior)
    kept = basis[:, size > 1e-10 * size[-1]] / np.sqrt(size[size > 1e-10 * size[-1]])
    share = np.linalg.eigvalsh(kept.T @ after @ kept)[-1]
    return kernel.memory * (1.0 - share) / share


def expected_error(kernel, train, asked):
    return float(np.mean(np.diag(left_over(kernel, train, train, asked)[2])))


def judged(case, kernel, added):
    """Return the share, the eigenvalue and the error with these combinations in training."""
    task = case.task
    old, asked = task.train_components, task.test_components
    train = np.concatenate([old, np.array(added, dtype=int).reshape(-1, old.shape[1])])
    told = is_determined(train, asked, case.order, task.n_values)
    e = eigenvalue(kernel, train, old, asked[told]) if told.any() else np.nan
    return told.mean(), e, expected_error(kernel, train, asked)


def unseen(case):
    task = case.task
    seen = {tuple(row) for row in task.train_components.tolist()}
    known = [sorted(set(column)) for column in task.components.T.tolist()]
    return [row for row in product(*known) if row not in seen]


@pytest.mark.parametrize("seed", range(6))
def test_each_step_is_the_best_of_all(seed):
    case = random_case(seed)
    kernel = OrderKernel.random_network(case.task.n_components, case.order, depth=1)
    found = recommended(case, 2)
    share, e, _ = judged(case, kernel, [])
    assert found.determined == pytest.approx(share)
    assert found.eigenvalue == pytest.approx(e, rel=CLOSE, nan_ok=True)
    assert (found.candidates, found.of) == (len(unseen(case)),) * 2
    added = []
    for step in found.steps:
        options = {
            row: judged(case, kernel, [*added, row]) for row in unseen(case) if row not in added
        }
        most = max(option[0] for option in options.values())
        options = {row: o for row, o in options.items() if o[0] > most - 1e-12}
        best = max(option[1] for option in options.values())
        options = {row: o for row, o in options.items() if o[1] >= best * (1 - 1e-7)}
        least = min(option[2] for option in options.values())
        options = {row: o for row, o in options.items() if o[2] <= least * (1 + 1e-7)}
        assert step.values in options
        assert step.determined == pytest.approx(most)
        assert step.eigenvalue == pytest.approx(best, rel=CLOSE)
        added.append(step.values)
    assert len(found.steps) == 2


@pytest.mark.parametrize("degree", [2, 3])
def test_the_eigenvalue_is_that_of_the_signless_laplacian(degree):
    """Each value of either component meets `degree` others; all other cells are held out."""
    n, rows = 7, grid(7, 7)
    split = (rows[:, 1] - rows[:, 0]) % n >= degree
    found = recommended(case_of(rows, split, 1), 0)
    adjacency = np.zeros((2 * n, 2 * n))
    adjacency[rows[~split, 0], n + rows[~split, 1]] = 1.0
    adjacency += adjacency.T
    laplacian = np.diag(adjacency.sum(axis=1)) + adjacency
    smallest = np.linalg.eigvalsh(laplacian)[1]
    salience = OrderKernel.random_network(2, 1, depth=1).salience[0]
    assert salience == pytest.approx(0.426422, abs=1e-6)
    assert found.eigenvalue == pytest.approx(salience * smallest, rel=CLOSE)
    assert found.steps == ()


def test_without_equal_degrees_the_constant_is_projected_out():
    rows = grid(5, 6)
    split = np.all(rows == 0, axis=1) | np.all(rows > 0, axis=1)
    split[(rows[:, 1] == 1) & (rows[:, 0] < 4)] = False
    found = recommended(case_of(rows, split, 1), 0)
    assert found.determined == 1.0
    one_hot = np.hstack([np.eye(5)[rows[:, 0]], np.eye(6)[rows[:, 1]]])
    b = one_hot[~split] - one_hot[~split].mean(axis=0)
    size = np.linalg.eigvalsh(b.T @ b)
    size = size[size > 1e-9]
    # All contrasts that training knows are asked for.
    asked = one_hot[split] - one_hot[~split].mean(axis=0)
    assert np.linalg.matrix_rank(asked) == len(size) == 9
    salience = OrderKernel.random_network(2, 1, depth=1).salience[0]
    assert found.eigenvalue == pytest.approx(salience * size.min(), rel=CLOSE)


def test_graph_components_are_merged_by_what_is_asked():
    """Three blocks; most held-out cells join the first and the last."""
    rows = grid(6, 6)
    block = rows // 2
    split = np.where(block[:, 0] == block[:, 1], 0, -1)
    split[(block[:, 0] == 0) & (block[:, 1] == 2)] = 1
    split[(rows[:, 0] == 2) & (rows[:, 1] == 0)] = 1
    found = recommended(case_of(rows, split, 1), 2)
    assert found.determined == 0.0
    first, second = found.steps
    assert {first.values[0] // 2, first.values[1] // 2} == {0, 2}
    assert first.determined == pytest.approx(4 / 5)
    assert second.determined == 1.0


def test_targets_play_no_part_and_the_seed_decides():
    for seed in (0, 5):
        case = random_case(seed)
        rng = np.random.default_rng(9)
        table = case.table
        other = AuditTable(
            table.components,
            rng.permutation(table.targets),
            *(
                getattr(table, name)
                for name in ("label", "split", "weights", "names", "values", "target", "labels")
            ),
            table.split_names,
        ).case(1, case.order)
        one, same, again = (recommended(c, 3) for c in (case, other, case))
        assert one.steps == same.steps == again.steps


def test_candidates_are_sampled_and_it_is_said(monkeypatch):
    case = random_case(4)
    every = unseen(case)
    rows, of = unseen_combinations(case, limit=10_000, seed=0)
    assert sorted(map(tuple, rows.tolist())) == sorted(every)
    assert of == len(every)
    h = case.task.n_test
    assert rows[:h].tolist() == case.task.test_components.tolist()
    for grid_limit in (1 << 24, 1):
        monkeypatch.setattr(choosing, "MOST_GRID", grid_limit)
        some, _ = unseen_combinations(case, limit=h + 2, seed=1)
        again, _ = unseen_combinations(case, limit=h + 2, seed=1)
        assert some.tolist() == again.tolist()
        assert some[:h].tolist() == case.task.test_components.tolist()
        assert len({tuple(row) for row in some.tolist()} & set(every)) == h + 2
        few, _ = unseen_combinations(case, limit=2, seed=1)
        assert len(few) == 2
        assert {tuple(r) for r in few.tolist()} <= {tuple(r) for r in rows[:h].tolist()}
    monkeypatch.setattr(module, "MOST_CANDIDATES", h + 1)
    found = recommended(case, 1)
    assert (found.candidates, found.of) == (h + 1, len(every))
    assert f"{h + 1} of {len(every)} unseen combinations were tried" in found.remarks[0]


def test_nothing_is_searched_where_nothing_can_be_told(monkeypatch):
    monkeypatch.setattr(module, "MOST_COLUMNS", 3)
    found = recommended(case_of(grid(3, 4, 2), np.arange(24) % 5 == 0, 1), 3)
    assert (found.determined, found.steps, found.evaluations) == (1.0, (), 0)
    assert "not computed for 9 values and sets of values (more than 3)" in found.remarks[0]


def test_many_conjunctions_are_looked_at_one_by_one(monkeypatch):
    """The neglect of overlaps, recomputed by loops over conjunctions."""
    monkeypatch.setattr(module, "MOST_COLUMNS", 3)
    # One value of the second component is never seen: any combination with it settles all.
    cells = grid(3, 4, 2)
    case = case_of(cells, (np.arange(24) % 5 == 0) | (cells[:, 1] == 3), 1)
    kernel = OrderKernel.random_network(3, 1, depth=1)
    found = recommended(case, 3)
    assert found.determined < 1.0 == found.steps[0].determined
    assert np.isnan([found.eigenvalue, *(step.eigenvalue for step in found.steps)]).all()
    assert "With 9 values and sets of values (more than 3) the eigenvalue" in found.remarks[0]

    def error(added):
        train = [*map(tuple, case.task.train_components.tolist()), *added]
        total = 0.0
        for row in case.task.test_components.tolist():
            for c, v in enumerate(row):
                n = sum(other[c] == v for other in train)
                w = kernel.weights[(c,)]
                total += w * kernel.memory / (kernel.memory + w * n)
        return total

    added = []
    for step in found.steps:
        left = [row for row in unseen(case) if row not in added]
        options = {row: error([*added, row]) for row in left if added or row[1] == 3}
        assert options[step.values] == pytest.approx(min(options.values()), rel=1e-9)
        added.append(step.values)


def test_it_ends_where_there_is_nothing_to_choose():
    nothing = case_of([[0, 0], [0, 1], [1, 0], [0, 0]], [0, 0, 0, 1], 1)
    found = recommended(nothing, 2)
    assert found.steps == ()
    assert np.isnan(found.determined)
    assert found.remarks == ("Nothing is held out; 0 of 2 additions were chosen.",)
    two = case_of([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1], 1)
    found = recommended(two, 2)
    assert [step.values for step in found.steps] == [(1, 1)]
    assert found.remarks == (
        "No unseen combination of known values remains; 1 of 2 additions were chosen.",
    )
    one = case_of([[0], [1], [2]], [0, 0, 1], 0)
    found = recommended(one, 1)
    assert found.determined == 1.0
    assert found.remarks == ("There is nothing to support; 0 of 1 additions were chosen.",)
    wide = case_of(grid(3, 3), [0, 0, 0, 0, 0, 1, 0, -1, -1], 1)
    found = recommended(wide, 9)
    assert (1, 2) in [step.values for step in found.steps]
    assert "; " in found.remarks[-1]


def test_time_that_runs_out_is_told():
    rows = grid(6, 6)
    blocks = case_of(rows, rows[:, 0] != rows[:, 1], 1)
    found = recommended(blocks, 5, time_limit=0.0)
    assert len(found.steps) == 1
    assert found.remarks == (
        "The time limit was reached; 1 of 5 additions were chosen.",
        "Among candidates that determine equally many combinations, only those with the smallest "
        "expected error were compared by their eigenvalue: 2 of 30.",
    )


def test_probes_that_run_out_are_drawn_anew():
    rows = grid(6, 6)
    blocks = case_of(rows, rows[:, 0] != rows[:, 1], 1)
    few, enough = (
        additions(blocks, determination(blocks.task, max_order=1, n_probes=n), add=5)
        for n in (2, 7)
    )
    assert few.steps == enough.steps
    # One added row joins two of the six graph components, and so on.
    told = [len(list(permutations(range(n), 2))) / 30 for n in range(2, 7)]
    assert [step.determined for step in few.steps] == pytest.approx(told)
    short = additions(
        blocks, determination(blocks.task, max_order=1, n_probes=2), add=5, time_limit=0.0
    )
    assert short.remarks[0] == "The time limit was reached; 1 of 5 additions were chosen."


def test_a_negative_number_is_refused():
    with pytest.raises(InputError) as error:
        recommended(random_case(0), -1)
    assert (
        str(error.value) == "add is a number of combinations, 0 or more; got -1; leave it out for 5"
    )


def test_the_objective_can_be_quoted():
    assert "Labels are not used." in OBJECTIVE
