"""On 50 random tasks an audit agrees with dense algebra and a linear program.

Predicted outputs are those of an explicit kernel machine; what is called determined is orthogonal
to every null vector of training's dense indicators, what is called unsolvable no linear program
solves.

The machine writes out the kernel matrix of the truncated kernel, memory on its diagonal, from
the closed form of ReLU's kernel. Memory is at least .01 and matrices have at most 140 rows, so
their condition is below 1e5; targets are of order 1.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from partwhole.audit.case import AuditTable
from partwhole.audit.prediction.prediction import predict
from partwhole.limits import determination, solvability

TOLERANCE = 1e-8
MOST_ROWS = 200
POINTS = 8


def rule_of(rng, components):
    """Draw a rule: a sum over components, a sum over pairs, or chance."""
    kind = rng.integers(3)
    n, n_components = components.shape
    if kind == 0:
        return rng.normal(size=n)
    sets = list(combinations(range(n_components), int(kind)))
    total = np.zeros(n)
    for chosen in sets:
        _, inverse = np.unique(components[:, list(chosen)], axis=0, return_inverse=True)
        total += rng.normal(size=n)[inverse.ravel()]
    return total / np.sqrt(len(sets))


def random_table(seed):
    rng = np.random.default_rng(seed)
    n_components = int(rng.integers(4, 7) if seed % 3 == 0 else rng.integers(2, 4))
    n_values = rng.integers(2, 13, n_components)
    n_cells = int(np.prod(n_values))
    cells = rng.choice(n_cells, size=min(n_cells, MOST_ROWS), replace=False)
    components = np.stack(np.unravel_index(cells, n_values), axis=1)
    split = (rng.random(len(cells)) > rng.uniform(0.2, 0.6)).astype(int)
    split[:2] = [0, 1]
    score = rule_of(rng, components)
    kind, labels, label = seed % 4, None, None
    if kind == 0:
        targets = score[:, None]
    elif kind == 1:
        targets = np.stack([score, rule_of(rng, components)], axis=1)
    else:
        labels = ("no", "yes") if kind == 2 else ("a", "b", "c", "d", "e")
        label = np.digitize(score, np.quantile(score, np.arange(1, len(labels)) / len(labels)))
        onehot = 2.0 * np.eye(len(labels))[label] - 1.0
        targets = onehot[:, 1:] if kind == 2 else onehot
    return AuditTable(
        components,
        targets,
        label,
        split,
        np.ones(len(cells)),
        tuple(f"part {c}" for c in range(n_components)),
        tuple(tuple(range(n)) for n in n_values),
        tuple(f"y{k}" for k in range(targets.shape[1])),
        labels,
        ("train", "test"),
    )


def relu(similarity, depth):
    for _ in range(depth):
        angle = np.arccos(np.clip(similarity, -1.0, 1.0))
        similarity = (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / np.pi
    return similarity


def weights_by_order(n_components, order, position):
    """Return sigma_1..sigma_K and memory, in units in which all shares add up to 1."""
    if n_components == 2:
        return [position], 1.0 - 2.0 * position
    k0, *kappa = relu(np.arange(order + 1) / n_components, int(position))
    scale = 1.0 - k0
    found = [(kappa[0] - k0) / scale]
    total = n_components * found[0]
    if order == 2:
        found.append((kappa[1] - 2.0 * kappa[0] + k0) / scale)
        total += n_components * (n_components - 1) / 2 * found[1]
    return found, 1.0 - total


def machine(task, by_order, memory):
    rows, n = task.components, task.n_train
    shared = (rows[:, None, :] == rows[None, :n, :]).sum(axis=2)
    # Of k shared components, k single ones and k (k - 1) / 2 pairs are shared conjunctions.
    kernel = by_order[0] * shared
    if len(by_order) == 2:
        kernel = kernel + by_order[1] * shared * (shared - 1) / 2
    gram = kernel[:n] + memory * np.eye(n)
    system = np.block([[gram, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    y = task.targets[:n]
    solved = np.linalg.solve(system, np.concatenate([y, np.zeros((1, *y.shape[1:]))]))
    return kernel[n:] @ solved[:n] + solved[n]


def test_predictions_of_50_tasks_equal_an_explicit_kernel_machine():
    sizes, worst = [], 0.0
    for seed in range(50):
        table = random_table(seed)
        order = min(2, table.n_components - 1)
        case = table.case(1, order)
        found = predict(case)
        sizes.append(table.n_components)
        memorizing = [point for point in found.points if point.memory >= 0.01]
        rng = np.random.default_rng(seed)
        for i in rng.choice(len(memorizing), size=POINTS, replace=False):
            point = memorizing[i]
            shares, memory = weights_by_order(table.n_components, order, point.position)
            expected = machine(case.task, shares, memory)
            assert point.outputs.shape == expected.shape
            worst = max(worst, float(np.abs(point.outputs - expected).max()))
    assert set(sizes) == {2, 3, 4, 5, 6}
    assert sum(size >= 4 for size in sizes) >= 16
    assert worst <= TOLERANCE


def indicators(components, order):
    """Write out a column of ones and one for every conjunction that occurs in these rows."""
    columns = [np.ones((len(components), 1))]
    for k in range(1, order + 1):
        for chosen in combinations(range(components.shape[1]), k):
            _, inverse = np.unique(components[:, list(chosen)], axis=0, return_inverse=True)
            columns.append(np.eye(inverse.max() + 1)[inverse.ravel()])
    return np.hstack(columns)


def lengths_in_the_null_space(matrix, rows):
    """Return how long the part of each row is that lies along null vectors of a matrix."""
    _, size, right = np.linalg.svd(matrix, full_matrices=False)
    right = right[: int(np.sum(size > 1e-9 * size[0]))]
    return np.linalg.norm(rows - rows @ right.T @ right, axis=1)


def has_answer(phi, case):
    """Solve for a sum of the columns: targets within t of it, or labels on the right side."""
    phi, (n, p) = sparse.csr_array(phi), phi.shape
    y = case.task.targets[case.held_out].reshape(n, -1)
    if not case.has_labels:
        ones = -np.ones((n, 1))
        rows = sparse.vstack([sparse.hstack([phi, ones]), sparse.hstack([-phi, ones])])
        for column in y.T:
            found = linprog(
                np.append(np.zeros(p), 1.0),
                A_ub=rows,
                b_ub=np.concatenate([column, -column]),
                bounds=[(None, None)] * p + [(0.0, None)],
            )
            assert found.status == 0
            # The program's own tolerance is 1e-7; what is unsolvable by chance is so by far.
            if found.fun > 1e-6:
                return False
        return True
    label = case.label[case.held_out]
    if y.shape[1] == 1:
        rows = -phi * y
    else:
        blocks = []
        for rival in range(y.shape[1]):
            other = np.flatnonzero(label != rival)
            for own in range(y.shape[1]):
                of = other[label[other] == own]
                if len(of):
                    row = [sparse.csr_array((len(of), p))] * y.shape[1]
                    row[rival], row[own] = phi[of], -phi[of]
                    blocks.append(sparse.hstack(row))
        rows = sparse.vstack(blocks) if blocks else sparse.csr_array((0, p))
    if not rows.shape[0]:
        return True
    found = linprog(
        np.zeros(rows.shape[1]),
        A_ub=rows,
        b_ub=-np.ones(rows.shape[0]),
        bounds=(None, None),
    )
    assert found.status in (0, 2)
    return found.status == 0


def test_verdicts_of_50_tasks_agree_with_null_vectors_and_a_linear_program():
    told = {True: 0, False: 0}
    shares = []
    for seed in range(50):
        table = random_table(seed)
        order = min(2, table.n_components - 1)
        case = table.case(1, order)
        task, held_out = case.task, case.held_out
        everything = indicators(task.components, order)
        train = everything[task.is_train]
        outside = lengths_in_the_null_space(train, everything[held_out])
        found = determination(task, max_order=order)
        # Of rows with small whole numbers: far above rounding where it is not 0.
        assert found.determined.tolist() == (outside < 1e-7).tolist()
        shares.append(found.share)

        seen = everything[held_out][:, train.any(axis=0)]
        kind = "classification" if case.has_labels else "regression"
        verdict = solvability(task, kind=kind, max_order=order, time_limit=60.0)
        assert verdict.solvable is not None
        assert verdict.solvable == has_answer(seen, case)
        told[verdict.solvable] += 1
    assert min(told.values()) >= 10
    assert 0.0 in shares
    assert sum(0.0 < share < 1.0 for share in shares) >= 10
