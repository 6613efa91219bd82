r"""Solvability: can any learner with a fixed compositional representation answer correctly?

On held-out combinations such a learner computes a sum over conjunctions that were seen in
training. Targets outside the range of their indicators, or labels that no such sum separates,
cannot be reached for any saliences. A certificate proves it: weights u on held-out combinations
whose total is 0 over every seen conjunction, but not for the targets.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import process_time
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Fraction, Index, Real
from partwhole.features.conjunctions import ConjunctionDesign, conjunction_sets
from partwhole.limits.proofs._budget import Budget
from partwhole.limits.proofs._indicators import as_sparse, distinct
from partwhole.limits.proofs._least_squares import BestSum, best_sum
from partwhole.limits.proofs.boxes import find_box
from partwhole.limits.proofs.certificates import (
    PROGRAM_ROWS,
    TOLERANCE,
    Certificate,
    annihilated,
    from_residual,
    from_weights,
    label_name,
    signed,
)
from partwhole.limits.proofs.label_proofs import decide_labels, has_sums
from partwhole.limits.proofs.rectangle_search import find_rectangle
from partwhole.tasks import Task
from partwhole.tasks._labels import are_classes

TERMS_IN_WORDS = 16
TERMS_ADDED_UP = 8
# A smaller share of unexplained variance is rounding.
ROUNDING = 1e-12
MOST_ROWS = 5000
BOX_SHARE = 0.2
SUM_SHARE = {"regression": 0.5, "classification": 0.25}
# The share for a best sum that is reported only, because the verdict is already known.
ANSWERED_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class Solvability:
    """Verdict whether sums of seen conjunctions can produce the held-out targets, with its proof.

    Parameters
    ----------
    task : Task
    kind : str
        "regression" (exact numbers) or "classification" (the right sign, or with an output for
        each label the right arg-max).
    order : int
        Largest number of components of the conjunctions considered.
    solvable : bool or None
        None if not decided within the time or the number of steps allowed.
    rank : int or None
        Rank of the seen conjunctions on the held-out combinations; None if not computed because
        the problem is too large.
    r_squared : float
        Share of the held-out targets' variance that the best sum explains; NaN when they are
        constant, when the best sum was not found, and, for many labels, when it was not needed.
    certificate : Certificate or None
        Proof when unsolvable; None also if the smallest proof found has more than 5,000 rows.
    seconds : float
        Computation time.
    tolerated : float, default 0
        Share of the variance of numeric targets that was allowed to stay unexplained.
    remarks : tuple of str, default ()
        Restrictions of the computation, such as rows that were left out.
    """

    task: Task
    kind: str
    order: int
    solvable: bool | None
    rank: int | None
    r_squared: float
    certificate: Certificate | None
    seconds: float
    tolerated: float = 0.0
    remarks: tuple[str, ...] = field(default=())

    @cached_property
    def n_held_out(self) -> int:
        """Return the number of distinct held-out combinations."""
        return len(distinct(self.task, np.flatnonzero(~self.task.is_train))[1])

    @property
    def unexplained(self) -> float:
        """Return the share of the held-out targets' variance that no sum explains."""
        return 1.0 - self.r_squared

    def __repr__(self) -> str:
        """Return the verdict in words."""
        return f"Solvability({self.explain()})"

    @door
    def explain(self, labels: Sequence[Hashable] | None = None) -> str:
        """Return the verdict and its evidence in words.

        Parameters
        ----------
        labels : sequence, optional
            Names of the labels of the outputs, for tasks with more than two labels.

        Returns
        -------
        str
        """
        if self.solvable is None:
            return f"Not decided within {self.seconds:.1f} s; allow more with time_limit."
        if self.solvable:
            return self._explain_solvable()
        if self.certificate is None:
            if self.kind == "classification":
                return "Not solvable: no sum of seen conjunctions separates the held-out labels."
            return (
                "Not solvable: the best sum of seen conjunctions leaves "
                f"{_percent(self.unexplained)} % of the held-out targets' variance."
            )
        certificate = self.certificate
        if len(certificate.rows) == 2 and np.array_equal(*self.task.components[certificate.rows]):
            entries = ", ".join(
                str(self.task.values[c][i])
                for c, i in enumerate(self.task.components[certificate.rows[0]])
            )
            return f"Not solvable: the held-out combination ({entries}) has two targets."
        words = certificate.sum_in_words(self.task, limit=TERMS_IN_WORDS, labels=labels)
        line = f"Not solvable: {words} is 0 for every sum of seen conjunctions"
        if certificate.labels is not None:
            first_label, second_label = (label_name(j, labels) for j in certificate.labels)
            line += f", with f the output for {first_label} minus the output for {second_label}"
        if certificate.rivals:
            line += ", with f[a - b] the output for a minus the output for b"
        is_sum = self.kind == "regression"
        total = _added_up(certificate) if is_sum else f"{certificate.total:g}"
        line += f", but the targets give {total}"
        if self.kind == "classification":
            line += "; so these weighted margins add up to 0 and can't all be positive"
        return line + "."

    def _explain_solvable(self) -> str:
        claim = "equals the held-out targets"
        if self.kind == "classification":
            claim = "separates the held-out labels"
        elif self.unexplained > ROUNDING and self.tolerated > 0:
            claim = (
                f"leaves {_percent(self.unexplained)} % of the held-out targets' variance, of "
                f"which {100 * self.tolerated:g} % is allowed"
            )
        line = f"Solvable in principle: some sum of seen conjunctions {claim}."
        if self.rank == self.n_held_out:
            combinations = (
                "this one combination" if self.rank == 1 else f"these {self.rank} combinations"
            )
            line += (
                f" Such sums could give any targets at all on {combinations}, so this says little "
                "of the targets; hold out more combinations."
            )
        return line


def _added_up(certificate: Certificate) -> str:
    """Return the total of the targets, with its few terms in the order of the sum in words."""
    total = f"{certificate.total:g}"
    if certificate.wanted is None or len(certificate.rows) > TERMS_ADDED_UP:
        return total
    arranged = np.argsort(-certificate.weights, kind="stable")
    terms = []
    for weight, target in zip(
        certificate.weights[arranged], certificate.wanted[arranged], strict=True
    ):
        size = "" if abs(weight) == 1 else f"{abs(weight):g} x "
        number = f"{target:g}" if target >= 0 else f"({target:g})"
        terms.append(f"{'+' if weight > 0 else '-'} {size}{number}")
    return f"{' '.join(terms).removeprefix('+ ')} = {total}"


def _percent(share: float) -> str:
    """Return a share in percent, with two digits, or three if two would round it to 100."""
    # With two digits 99.6 would be printed as 1e+02.
    return f"{100 * share:.{2 if share < 0.995 else 3}g}"


@door(infinite=("deadline",))
def solvability(
    task: Task,
    *,
    kind: Literal["auto", "regression", "classification"] = "auto",
    max_order: Index | None = None,
    time_limit: Real = 10.0,
    unexplained: Fraction = 0.0,
    deadline: Real = float("inf"),
) -> Solvability:
    r"""Return the verdict whether held-out targets are sums of seen conjunctions.

    Regression asks whether :math:`y_{test}` lies in the range of :math:`\Phi_{test}`, the
    indicators of the constant and of every conjunction seen in training; classification whether
    some w has :math:`y_i (\Phi w)_i > 0` throughout, and with an output for each label whether
    some W has :math:`(\Phi W)_{i, y_i} > (\Phi W)_{ij}` for every other label j.

    Parameters
    ----------
    task : Task
        A task with held-out rows. Repeated rows count once.
    kind : {"auto", "regression", "classification"}, keyword-only, default "auto"
        "auto" means classification if every target is -1 or +1, or rows are one-hot. Labels are -1
        and +1, or one output of 0 or -1 and +1 for each label. Values in between (averages over
        rows that disagree) count as the nearer label; rows that are evenly divided between labels
        are left out.
    max_order : int, keyword-only, optional
        Largest number of components of the conjunctions considered; all by default.
    time_limit : float, keyword-only, default 10
        Seconds after which the verdict may be left undecided. Steps are counted at 3e8
        multiplications a second, so that the verdict does not depend on the speed of the machine
        unless it is slower than this; then the clock stops it. Dense linear algebra, up to 1,600
        conjunctions, is not interrupted.
    unexplained : float, keyword-only, default 0
        Largest share of the held-out variance, 0..1, that may stay unexplained if numeric
        targets are to count as solvable.
    deadline : float, keyword-only, default infinity
        Time at which to stop, by `time.process_time`; it does not change the number of steps
        allowed.

    Returns
    -------
    Solvability
        The verdict; a negative one has a certificate that can be checked by hand. Rectangles (four
        combinations) and boxes (2**(K + 1) combinations at order K) are searched first.

    Raises
    ------
    InputError
        When no row is held out, the kind is unknown, or targets are not labels of this form.

    Notes
    -----
    Derived here from theorem 4.2 of Lippl & Stachenfeld (ICLR 2025). Solvable in principle
    does not mean solved: see memorization leak and shortcut bias. A network that learns its
    features may solve unsolvable tasks.

    Examples
    --------
    >>> from partwhole import tasks
    >>> print(solvability(tasks.associative_inference()).explain())
    Not solvable: f(A, B) + f(C, D) - f(A, D) - f(C, B) is 0 for every sum of seen conjunctions,
    but the targets give 4; so these weighted margins add up to 0 and can't all be positive.
    """
    start = process_time()
    if kind != "regression" and are_classes(task.targets) and task.targets.min() == 0.0:
        task = replace(task, targets=2.0 * task.targets - 1.0)
    if kind == "auto":
        kind = "classification" if task.is_classification else "regression"
    if kind == "classification":
        _require_labels(task)
    require(task.n_test > 0, "solvability is asked of held-out rows", "none", "hold some out")
    order = task.n_components if max_order is None else min(max_order, task.n_components)
    budget = Budget.of(time_limit, deadline)
    rows, y, conflict = _distinct_test(task, kind)
    phi, unseen = _seen_indicators(task, rows, order)
    # A rectangle at order 2 or more needs rows with an unseen conjunction: if all conjunctions of
    # a corner were seen, that of its two settings would contain this corner alone.
    among = np.arange(len(rows)) if order <= 1 else np.flatnonzero(unseen)
    has_many_labels = kind == "classification" and y.shape[1] > 1
    answered = has_many_labels and conflict is None and has_sums(y, phi, budget)
    best = best_sum(phi, y, budget.part(ANSWERED_SHARE if answered else SUM_SHARE[kind]))

    certificate, tolerated = None, 0.0
    remarks: tuple[str, ...] = ()
    r_squared = best.r_squared
    solvable: bool | None
    if conflict is not None:
        certificate, solvable, r_squared = conflict, False, float("nan")
    elif kind == "regression":
        tolerated = float(unexplained)
        solvable, certificate = _decide_numbers(
            task, rows, y, phi, order, among, best, tolerated, budget
        )
    else:
        solvable, certificate, remarks = decide_labels(
            task, rows, y, phi, order, among, y - best.residual, answered, budget
        )
    if certificate is not None and len(certificate.rows) > MOST_ROWS:
        remarks += (
            f"The smallest proof that was found takes {len(certificate.rows)} held-out "
            "combinations together; it is not listed.",
        )
        certificate = None
    return Solvability(
        task,
        kind,
        order,
        solvable,
        best.rank,
        r_squared,
        certificate,
        process_time() - start,
        tolerated,
        remarks,
    )


def _require_labels(task: Task) -> None:
    inside = bool(np.all(np.abs(task.targets) <= 1.0))
    if task.targets.ndim == 1:
        fits = inside
    else:
        # An output for each label: +1 for the correct one and -1 for others, or averages of such.
        k = task.targets.shape[1]
        fits = inside and k >= 2 and bool(np.all(np.abs(task.targets.sum(axis=1) + k - 2) < 1e-6))
    require(
        fits,
        "classification needs labels -1 and +1, or one output for each label, +1 for its own",
        f"targets of shape {task.targets.shape} in {task.targets.min():g}..{task.targets.max():g}",
        "ask for one label at a time, or for kind='regression'",
    )


def _decide_numbers(
    task: Task,
    rows: Int[np.ndarray, " n"],
    y: Float[np.ndarray, "n k"],
    phi: sparse.csr_array,
    order: int,
    among: Int[np.ndarray, " q"],
    best: BestSum,
    tolerated: float,
    budget: Budget,
) -> tuple[bool | None, Certificate | None]:
    """Return the verdict for numeric targets by the best sum's residual, with a small proof."""
    level = np.abs(y - y.mean(axis=0)).max()
    rounding = 64.0 * np.finfo(float).eps * np.abs(y).max()
    left = np.abs(best.residual).max(axis=0)
    if left.max() <= TOLERANCE * level + rounding or 1.0 - best.r_squared <= tolerated:
        return True, None
    output = int(left.argmax())
    numbers, facts = y[:, output], {"output": output}
    certificate = None
    if len(among):
        certificate = find_rectangle(
            task, rows[among], numbers[among], phi[among], False, budget, **facts
        )
    if certificate is None:
        least = TOLERANCE * float(np.ptp(numbers)) + rounding
        part = budget.part(BOX_SHARE)
        box = find_box(task, rows, order, part, targets=numbers, least=least)
        if box is not None:
            box_corners, signs, groups = box
            certificate = signed(rows, numbers, box_corners, signs, groups=groups, **facts)
    # A contrast proves that some variance is unexplained, but not how much.
    if not best.settled and (certificate is None or tolerated > 0):
        return None, None
    if certificate is None:
        residual = best.residual[:, output]
        # Beyond this number of rows there is no linear program, whose import takes half a second.
        if len(rows) <= PROGRAM_ROWS:
            certificate = from_residual(rows, numbers, residual, phi, budget, **facts)
        elif annihilated(phi, residual):
            certificate = from_weights(rows, numbers, residual, phi, **facts)
    return False, certificate


def _distinct_test(task: Task, kind: str) -> tuple[np.ndarray, np.ndarray, Certificate | None]:
    """Return one row for each held-out tuple, its targets, and a proof of conflicting repeats."""
    held_out = np.flatnonzero(~task.is_train)
    targets = task.targets[held_out].reshape(len(held_out), -1)
    _, first, inverse = distinct(task, held_out)
    place = np.searchsorted(held_out, first)
    compared = targets
    if kind == "classification":
        compared = np.sign(targets) if targets.shape[1] == 1 else targets
    apart = np.abs(compared - compared[place][inverse]).max(axis=1)
    conflict = None
    if apart.max() > 0:
        repeat = int(np.flatnonzero(apart)[0])
        original = int(place[inverse[repeat]])
        output = int(np.abs(compared[repeat] - compared[original]).argmax())
        conflict = signed(
            held_out,
            targets[:, output],
            np.array([repeat, original]),
            np.array([1.0, -1.0]),
            output=output,
        )
    return first, targets[place], conflict


def _seen_indicators(
    task: Task, rows: np.ndarray, order: int
) -> tuple[sparse.csr_array, Bool[np.ndarray, " n"]]:
    """Return the indicators of seen conjunctions on these rows, and which rows have an unseen one.

    Empty columns are left out. If no row has an unseen conjunction, only the conjunctions of the
    largest order are used, because the smaller ones are sums of them.
    """
    sets = conjunction_sets(task.n_components, order)
    largest = [s for s in sets if len(s) == order]
    train, tuples = task.train_components, task.components[rows]
    design = ConjunctionDesign.seen(train, largest, task.n_values).at(tuples)
    unseen = np.zeros(len(rows), dtype=bool)
    for index in design.index:
        unseen |= index < 0
    if unseen.any():
        design = ConjunctionDesign.seen(train, sets, task.n_values).at(tuples)
    phi = as_sparse(design)
    nonempty = np.zeros(design.shape[1], dtype=bool)
    nonempty[phi.indices] = True
    packed = np.cumsum(nonempty, dtype=np.int32) - np.int32(1)
    return sparse.csr_array(
        (phi.data, packed[phi.indices], phi.indptr), (len(rows), int(nonempty.sum()))
    ), unseen
