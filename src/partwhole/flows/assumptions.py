r"""The formal conditions under which the stages of the tied network are proved, with numbers.

They are sufficient conditions, and strict ones: the published examples do not satisfy them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import NonNegative, Positive, Real
from partwhole.flows._inputs import Power, factor, moment, signals

if TYPE_CHECKING:
    import pandas as pd

GRID = 200  # values of each constant that are tried


@dataclass(frozen=True)
class Assumption:
    """One condition: its two sides and whether it is met.

    Parameters
    ----------
    statement : str
        With <= or >=, < or > between value and bound.
    value, bound : float
        The left and the right side.
    met : bool
    """

    statement: str
    value: float
    bound: float
    met: bool


@dataclass(frozen=True)
class Assumptions:
    """Conditions of the theorem for one initial matrix and one second moment.

    Parameters
    ----------
    conditions : tuple of Assumption
    constants : dict of str to float
        What the conditions were evaluated with: alpha, gamma (least signal, and the largest over
        it), omega, beta (least size of an initial entry, and the largest over it), resolution,
        cap, slack and separation.
    """

    conditions: tuple[Assumption, ...]
    constants: dict[str, float]

    @property
    def met(self) -> bool:
        """Whether all conditions hold, so that the theorem applies."""
        return all(condition.met for condition in self.conditions)

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each condition."""
        import pandas as pd

        return pd.DataFrame([vars(condition) for condition in self.conditions])


@door
def check_assumptions(
    w0: Float[np.ndarray, "d d"],
    second_moment: Float[np.ndarray, "d d"],
    step_size: NonNegative,
    *,
    resolution: Positive | None = None,
    cap: Positive | None = None,
    slack: Positive | None = None,
    separation: Positive | None = None,
    power: Power = 1,
) -> Assumptions:
    r"""Check the published conditions under which the stages of learning are proved.

    From the data come :math:`\alpha = \min a`, :math:`\gamma\alpha = \max a`,
    :math:`\omega = \min |w_{ij}(0)|` and :math:`\beta\omega = \max |w_{ij}(0)|`. The conditions,
    for a stronger concept i and a weaker j:

    .. math::
        & \alpha > 0, \quad \omega > 0, \quad \eta \le 1/(9 K \gamma \alpha), \quad
            P \beta \omega \le 0.4, \quad \omega \le 1/\sqrt{2\beta}, \\
        & \omega \le \min(\kappa - 1, 1 - \kappa^{-1/2}) / (P K \gamma d \beta^2), \\
        & \frac{a_i + a_j}{2 a_i} \le
            \frac{\ln P}{10 \kappa^2 \ln(1/(P \beta \omega)) + \ln(P \beta)}, \qquad
            a_i - 3 a_j \ge \alpha / C, \\
        & K \ge 20, \quad P \ge 2, \quad \kappa > 1.1, \quad C > 1, \quad
            \kappa \le 1 + K/(2 C).

    Parameters
    ----------
    w0 : float array, shape (d, d)
        Initial input-output matrix, symmetric and positive semidefinite.
    second_moment : float array, shape (d, d)
        Diagonal. All its coordinates count, as printed, so that one without a signal breaks the
        conditions.
    step_size : float
        :math:`\eta`, in paper time; 0 for the flow.
    resolution : float, keyword-only, default None
        K, the step's inverse size. None takes the least allowed, 20 or what :math:`\kappa` and C
        need: a larger one only makes the step and the initial size harder to meet.
    cap : float, keyword-only, default None
        P, how far minor entries may grow over the largest initial entry. None searches.
    slack : float, keyword-only, default None
        :math:`\kappa`, by how much rates may differ from their first order. None searches.
    separation : float, keyword-only, default None
        C, how far apart the signals are. None takes the least that meets the last condition on
        the signals, since that leaves most room to :math:`\kappa`.
    power : {1, 2}, keyword-only, default 1

    Returns
    -------
    Assumptions
        The constants that were free are chosen together, so that as many conditions as possible
        are met, and then so that the logarithms of the ratios by which the others fail sum to the
        least. Conditions on pairs are given for the pair that is worst.

    Raises
    ------
    InputError
        As `learning_clocks`, for fewer than two coordinates, a negative step size, and for
        constants that are not positive.

    Notes
    -----
    Yang et al. (ICLR 2025), appendix with the formal statements, where the concepts are numbered
    the other way round than in the main text; read here with i the stronger. Since no ratio of
    signals is under 1/2, ln P must be far above 100: two concepts with signals tenfold apart meet
    all conditions only from initial entries below about 1e-62 (derived here).

    Examples
    --------
    >>> w0 = 0.001 * np.array([[1, 0.5], [0.5, 1]])
    >>> found = check_assumptions(w0, np.diag([4.5, 0.5]), 0.001)
    >>> found.met, sum(each.met for each in found.conditions), len(found.conditions)
    (False, 11, 13)
    """
    root = factor(w0)
    w = root @ root.T
    a = signals(moment(second_moment, len(w), power))
    require(len(a) >= 2, "the conditions compare concepts", f"{len(a)} of them", "pass two or more")
    data = _Data.read(w, a, float(step_size))
    constants = _choose(data, resolution, cap, slack, separation)
    conditions = tuple(
        Assumption(statement, float(value), float(bound), bool(_holds(value, sign, bound)))
        for statement, value, sign, bound in _sides(data, *constants)
    )
    names = ("resolution", "cap", "slack", "separation")
    constants = {
        "alpha": data.alpha,
        "gamma": data.gamma,
        "omega": data.omega,
        "beta": data.beta,
        **dict(zip(names, (float(value) for value in constants), strict=True)),
    }
    return Assumptions(conditions, constants)


@dataclass(frozen=True)
class _Data:
    """Sizes of the problem that the conditions compare."""

    dimension: int
    step: float
    alpha: float
    top: float  # the largest signal
    omega: float
    largest: float  # the largest initial entry
    ratio: float  # the worst (a_i + a_j) / (2 a_i)
    ratio_pair: tuple[int, int]
    gap: float  # the worst a_i - 3 a_j
    gap_pair: tuple[int, int]

    @property
    def gamma(self) -> float:
        return self.top / self.alpha if self.alpha > 0 else float("inf")

    @property
    def beta(self) -> float:
        return self.largest / self.omega if self.omega > 0 else float("inf")

    @classmethod
    def read(cls, w: np.ndarray, a: np.ndarray, step: float) -> _Data:
        order = np.argsort(-a, kind="stable")
        pairs = [
            (int(order[i]), int(order[j])) for i in range(len(a)) for j in range(i + 1, len(a))
        ]
        ratios = [0.5 * (1.0 + a[j] / a[i]) if a[i] > 0 else 1.0 for i, j in pairs]
        gaps = [a[i] - 3.0 * a[j] for i, j in pairs]
        r, g = int(np.argmax(ratios)), int(np.argmin(gaps))
        size = np.abs(w)
        return cls(
            *(len(a), step, float(a.min()), float(a.max()), float(size.min()), float(size.max())),
            *(float(ratios[r]), pairs[r], float(gaps[g]), pairs[g]),
        )


Side = float | np.ndarray


def _sides(
    data: _Data, resolution: Side, cap: Side, slack: Side, separation: Side
) -> list[tuple[str, Side, str, Side]]:
    """Return each condition as statement, left side, sign and right side."""
    reach = cap * data.largest
    with np.errstate(all="ignore"):
        log_beta = np.log(data.beta)
        room = -10.0 * slack**2 * np.log(reach) + np.log(cap) + log_beta
        allowed = np.where(room > 0, np.log(cap) / room, 0.0)
        start = np.minimum(slack - 1.0, 1.0 - slack**-0.5) / (
            cap * resolution * data.gamma * data.dimension * data.beta**2
        )
        step = 1.0 / (9.0 * resolution * data.top) if data.top > 0 else np.inf + 0.0 * resolution

    def pair(concepts: tuple[int, int]) -> str:
        return f"concepts {concepts[0] + 1} and {concepts[1] + 1}"

    return [
        ("α > 0", data.alpha, ">", 0.0),
        ("ω > 0", data.omega, ">", 0.0),
        ("η <= 1/(9 K γ α)", data.step, "<=", step),
        ("P β ω <= 0.4", reach, "<=", 0.4),
        ("ω <= min(κ - 1, 1 - κ^(-1/2)) / (P K γ d β²)", data.omega, "<=", start),
        ("ω <= 1/√(2β)", data.omega, "<=", (2.0 * data.beta) ** -0.5),
        (
            "(a_i + a_j) / (2 a_i) <= ln P / (10 κ² ln(1/(Pβω)) + ln(Pβ)), "
            + pair(data.ratio_pair),
            *(data.ratio, "<=", allowed),
        ),
        (
            f"a_i - 3 a_j >= α / C, {pair(data.gap_pair)}",
            *(data.gap, ">=", data.alpha / separation),
        ),
        ("K >= 20", resolution, ">=", 20.0),
        ("P >= 2", cap, ">=", 2.0),
        ("κ > 1.1", slack, ">", 1.1),
        ("C > 1", separation, ">", 1.0),
        ("κ <= 1 + K/(2C)", slack, "<=", 1.0 + resolution / (2.0 * separation)),
    ]


def _holds(value: Side, sign: str, bound: Side) -> np.ndarray:
    compare = {"<=": np.less_equal, ">=": np.greater_equal, ">": np.greater}[sign]
    return np.asarray(compare(value, bound))


def _choose(
    data: _Data,
    resolution: Real | None,
    cap: Real | None,
    slack: Real | None,
    separation: Real | None,
) -> tuple[float, float, float, float]:
    """Return K, P, κ and C: what was given, and for the rest what fits the conditions best."""
    smallest = data.alpha / data.gap if data.gap > 0 else 1.0
    # A hair inside each bound, so that rounding doesn't decide.
    c = max(1.0, smallest) * (1.0 + 1e-9) if separation is None else float(separation)
    kappa = np.geomspace(1.1 + 1e-9, 10.0, GRID) if slack is None else np.array([float(slack)])
    if resolution is None:
        K = np.maximum(20.0, 2.0 * c * (kappa - 1.0) * (1.0 + 1e-9))
    else:
        K = np.full(len(kappa), float(resolution))
    if cap is None:
        # The larger the better for the signals; what caps it is either bound on the entries.
        with np.errstate(all="ignore"):
            room = np.minimum(kappa - 1.0, 1.0 - kappa**-0.5) * (1.0 - 1e-12)
            start = room / (data.omega * K * data.gamma * data.dimension * data.beta**2)
        top = max(0.4 * (1.0 - 1e-12) / data.largest, 2.0) if data.largest > 0 else 1e6
        start = np.clip(np.nan_to_num(start, nan=2.0), 2.0, top)
        P = np.concatenate([start[None], np.geomspace(2.0, top, GRID)[:, None] + 0.0 * start])
    else:
        P = np.full((1, len(kappa)), float(cap))
    P, K, kappa = (values.ravel() for values in np.broadcast_arrays(P, K, kappa))
    failed, excess = np.zeros(len(P)), np.zeros(len(P))
    for _, value, sign, bound in _sides(data, K, P, kappa, c):
        value, bound = np.broadcast_arrays(value, bound)
        low, high = (value, bound) if sign == "<=" else (bound, value)
        failed = failed + ~_holds(value, sign, bound)
        with np.errstate(all="ignore"):
            over = np.where((low > 0) & (high > 0), np.log(low / high), np.inf)
        excess = excess + np.where(_holds(value, sign, bound), 0.0, np.clip(over, 0.0, 50.0))
    best = int(np.lexsort((excess, failed))[0])
    return float(K[best]), float(P[best]), float(kappa[best]), c
