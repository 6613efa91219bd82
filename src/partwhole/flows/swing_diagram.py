r"""How far the error swings back on its way down, over signals, initial scale and correlation.

Two concepts without spread, the strong one with signal 1 and the weak one with signal r, so that
their means stand to each other as :math:`\sqrt r` to 1, and the initial matrix
:math:`W_0 = \omega \begin{pmatrix} 1 & \rho \\ \rho & 1 \end{pmatrix}`. The swing is the largest
rise of the loss on the combination of both over an earlier value, in units of the plateau
:math:`\frac12 \mu_w^2` at which only the strong concept is known.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import xarray as xr
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole.flows._inputs import grid
from partwhole.flows._path import FlowOutcome
from partwhole.flows.cholesky_path import cholesky_path, cholesky_valid
from partwhole.flows.flow import flow
from partwhole.flows.tied import Tied

# States of 4,000 flows at 800 times take 0.1 GB.
AT_ONCE = 4_000
DENSITY = 200  # times for each decade
# Of the plateau; smaller rises may be the integration's.
NOISE = 1e-7


@door
def swing_diagram(
    ratios: Float[np.ndarray, " r"],
    scales: Float[np.ndarray, " w"],
    correlations: Float[np.ndarray, " c"],
    *,
    method: Literal["flow", "formula"] = "flow",
    times: Float[np.ndarray, " T"] | None = None,
) -> xr.Dataset:
    r"""Return how far the error of a tied two-layer network swings back, over its conditions.

    With :math:`A = \mathrm{diag}(1, r)`, means :math:`\mu = (1, \sqrt r)` and
    :math:`\ell(t) = \frac12 \|W(t) \mu - \mu\|^2`,

    .. math:: \frac{\max_{t_2 > t_1} [\ell(t_2) - \ell(t_1)]}{\frac12 \mu_w^2} .

    Parameters
    ----------
    ratios : float array, shape (r,)
        Signals of the weak concept against the strong one, above 0 and below 1.
    scales : float array, shape (w,)
        ω, above 0.
    correlations : float array, shape (c,)
        ρ of the initial rows, strictly between -1 and 1. Rows of positive entries drawn
        uniformly have ρ near 3/4.
    method : {"flow", "formula"}, keyword-only, default "flow"
        "flow" integrates all of them at once; "formula" takes `cholesky_path`, which is accurate
        for small ω, unless r and ρ are both near 1.
    times : float array, shape (T,), keyword-only, default None
        Paper times at which to look. By default for each flow 200 to the decade, until past its
        own last clock, when the swing is over; 800 unless the smallest ratio needs more.

    Returns
    -------
    xarray.Dataset
        `amplitude` over (ratio, scale, correlation), in units of the plateau, 0 for a rise below
        1e-7; `minimum_time` and `maximum_time`, the paper times between which the error rose,
        NaN where it did not; and `valid`, False where the formula is used outside the
        conditions under which it is accurate, and can show a swing that no flow has.

    Raises
    ------
    InputError
        For ratios, scales or correlations out of range, an unknown method, or times that do not
        increase from 0.

    Notes
    -----
    Derived here. Where `valid`, the formula's amplitudes lie within 0.04 of the plateau of the
    flow's, on a grid with ω of 0.001 to 0.1, r of 0.05 to 0.7 and ρ of 0.3 to 0.999; elsewhere on
    it they are up to 0.14 off.

    A large swing needs a small r, ρ near 1 and an ω that is not too small, and there is none for
    ρ ≤ 0. As ω vanishes, so does the swing, like :math:`\omega^{4(1 - r)/(7 + r)}`: the minor
    entry is :math:`\omega^{(1 - r)/2}` at its peak, and the minimum is
    :math:`(1 - r) \ln(1/\omega)/(7 + r)` after the strong concept's clock, in which time it has
    decayed at the rate :math:`\frac12 (1 - r)`.

    Examples
    --------
    >>> found = swing_diagram(np.array([0.05]), np.array([0.1]), np.array([0.0, 0.7]))
    >>> found.amplitude.sel(ratio=0.05, scale=0.1).values.round(3)
    array([0.   , 0.506])
    """
    _within(ratios, "ratios", 0.0, 1.0, "divide the weaker signal by the stronger")
    _within(scales, "scales", 0.0, np.inf, "take 0.01, say")
    _within(correlations, "correlations", -1.0, 1.0, "take 0.999 for rows that are nearly the same")
    over = np.meshgrid(ratios, scales, correlations, indexing="ij")
    strength, size, correlation = (axis.ravel() for axis in over)
    w0 = size[:, None, None] * (np.eye(2) + correlation[:, None, None] * (1.0 - np.eye(2)))
    if times is None:
        horizon = _horizon(strength, size, correlation)
        # From well before the strong concept moves, in the longest of them.
        decades = max(4, int(np.ceil(np.log10(float(horizon.max()) / 0.05))))
        records = np.concatenate([[0.0], np.geomspace(10.0**-decades, 1.0, DENSITY * decades - 1)])
    else:
        horizon, records = np.ones(len(strength)), grid(times)
    parts = [
        _swings(w0[part], strength[part], horizon[part], records, method)
        for part in (slice(i, i + AT_ONCE) for i in range(0, len(strength), AT_ONCE))
    ]
    amplitude, lowest, highest = np.concatenate(parts, axis=1)
    valid = np.ones(len(strength), dtype=bool)
    if method == "formula":
        valid = cholesky_valid(w0, _moments(np.ones_like(strength), strength))
    shape, dims = over[0].shape, ("ratio", "scale", "correlation")
    return xr.Dataset(
        {
            "amplitude": (dims, amplitude.reshape(shape)),
            "minimum_time": (dims, lowest.reshape(shape)),
            "maximum_time": (dims, highest.reshape(shape)),
            "valid": (dims, valid.reshape(shape)),
        },
        coords={"ratio": ratios, "scale": scales, "correlation": correlations},
        attrs={"method": method, "clock": "paper"},
    )


def _within(values: np.ndarray, name: str, low: float, high: float, remedy: str) -> None:
    reach = f"lie between {low:g} and {high:g}" if np.isfinite(high) else f"lie above {low:g}"
    out = values[~((values > low) & (values < high))]
    require(
        not out.size,
        f"{name} are a list of numbers that {reach}, without the ends",
        ", ".join(f"{value:g}" for value in out[:3]),
        remedy,
    )


def _horizon(strength: np.ndarray, size: np.ndarray, correlation: np.ndarray) -> np.ndarray:
    """Return for each flow a time by which both concepts are learned, from its weak clock."""
    pivot = size * (1.0 - correlation**2)
    return (np.log1p(1.0 / pivot) + 10.0) / (2.0 * strength)


def _swings(
    w0: np.ndarray, strength: np.ndarray, horizon: np.ndarray, records: np.ndarray, method: str
) -> np.ndarray:
    """Return amplitudes and the two times of each flow, shape (3, n)."""
    mu = np.stack([np.ones_like(strength), np.sqrt(strength)], axis=1)
    # A flow under c A is the flow under A at c times the pace: so each has its own horizon.
    states = _states(w0, _moments(horizon, horizon * strength), records, method)
    loss = 0.5 * ((np.einsum("ntij,nj->nti", states, mu) - mu[:, None]) ** 2).sum(axis=-1)
    rise = loss - np.minimum.accumulate(loss, axis=1)
    top = rise.argmax(axis=1)
    bottom = np.array([row[: i + 1].argmin() for row, i in zip(loss, top, strict=True)], dtype=int)
    trough, lowest = _turn(records, loss, bottom)
    crest, highest = _turn(records, loss, top)
    amplitude = (crest - trough) / (0.5 * strength)
    risen = (top > bottom) & (amplitude > NOISE)
    return np.stack(
        [
            np.where(risen, amplitude, 0.0),
            np.where(risen, lowest * horizon, np.nan),
            np.where(risen, highest * horizon, np.nan),
        ]
    )


def _turn(records: np.ndarray, loss: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return value and time of the turn of a parabola through the records around one."""
    rows, inner = np.arange(len(at)), (at > 0) & (at < len(records) - 1)
    middle = np.clip(at, 1, len(records) - 2)
    (x0, x1, x2) = (records[middle + i] for i in (-1, 0, 1))
    (y0, y1, y2) = (loss[rows, middle + i] for i in (-1, 0, 1))
    left, right = (y1 - y0) / (x1 - x0), (y2 - y1) / (x2 - x1)
    bend = (right - left) / (x2 - x0)
    slope = (left * (x2 - x1) + right * (x1 - x0)) / (x2 - x0)
    inner &= bend != 0
    shift = np.divide(-0.5 * slope, bend, out=np.zeros_like(slope), where=inner)
    # Of records that are all but alike rounding makes a turn far away.
    inner &= (x0 - x1 < shift) & (shift < x2 - x1)
    value = np.where(inner, y1 + 0.5 * slope * shift, loss[rows, at])
    return value, np.where(inner, x1 + shift, records[at])


def _moments(strong: np.ndarray, weak: np.ndarray) -> np.ndarray:
    a = np.zeros((len(strong), 2, 2))
    a[:, 0, 0], a[:, 1, 1] = strong, weak
    return a


def _states(w0: np.ndarray, a: np.ndarray, records: np.ndarray, method: str) -> np.ndarray:
    if method == "flow":
        path = flow(Tied(w0, a), records, rtol=1e-8, atol=1e-11)
        require(
            path.outcome is FlowOutcome.REACHED,
            "the flow reaches the last time within its steps",
            path.outcome.value,
            'ask for earlier times or larger ratios, or use method="formula"',
        )
        return path.states
    return cholesky_path(w0, a, records).states
