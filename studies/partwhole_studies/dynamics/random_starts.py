"""Rows of initial matrices W = UU' with random entries: their correlation and the swing."""

from __future__ import annotations

import numpy as np
from scipy.integrate import quad
from scipy.special import erf, gammaln

from partwhole.flows.cholesky_path import cholesky_path
from partwhole.measures.swing import swing

LAWS = ("uniform", "Gaussian")
WIDTHS = (3, 16, 256)
QUANTITIES = ("correlation", "diagonal", "off-diagonal", "swing")
SWINGS = 1000  # starts from which a swing is computed
RATIO = 0.1  # of the signals
TIMES = np.concatenate([[0.0], np.geomspace(0.1, 200.0, 400)])


def starts(law: str, draws: int, seed: int) -> np.ndarray:
    """Draw two rows of factors; return means and standard errors, shape (widths, quantities, 2).

    The rows' correlation (its absolute value for Gaussian entries), their diagonal and
    off-diagonal entry in W for each column of U, and the swing from 1,000 of them, scaled to a
    mean diagonal entry of .01, in the closed form.
    """
    rows = []
    for width in WIDTHS:
        # As much work for each width: the correlation varies less in wide ones.
        n = draws // width
        rng = np.random.default_rng([seed, width])
        draw = rng.random if law == "uniform" else rng.standard_normal
        first, second = draw((2, n, width))
        diagonal, joint = (first**2).sum(axis=1), (first * second).sum(axis=1)
        cosine = joint / np.sqrt(diagonal * (second**2).sum(axis=1))
        rho = cosine if law == "uniform" else np.abs(cosine)
        pairs = np.stack([first[:SWINGS], second[:SWINGS]], axis=1)
        w0 = pairs @ pairs.swapaxes(1, 2)
        w0 *= 0.01 / (width * (1 / 3 if law == "uniform" else 1.0))
        path = cholesky_path(w0, np.diag([1.0, RATIO]), TIMES)
        error = path.probe_losses(np.array([1.0, np.sqrt(RATIO)]))
        rise = np.asarray(swing(TIMES, error).amplitude)
        rows.append(
            [_mean(values) for values in (rho, diagonal / width, joint / width, 2 * rise / RATIO)]
        )
    return np.array(rows)


def _mean(samples: np.ndarray) -> tuple[float, float]:
    return float(samples.mean()), float(samples.std(ddof=1) / np.sqrt(len(samples)))


def mean_correlation(law: str, width: int) -> float:
    r"""Return the mean row correlation of W = UU' for random U, its absolute value if Gaussian.

    Two rows are independent, so that for positive entries the mean is :math:`d' m^2` with
    :math:`m = E[u_1/\|u\|]`, an integral over one variable; for Gaussian ones it is the mean
    absolute cosine of random directions, :math:`\Gamma(d'/2) / (\sqrt\pi\,\Gamma((d'+1)/2))`.
    """
    if law == "Gaussian":
        return float(np.exp(gammaln(width / 2) - gammaln((width + 1) / 2)) / np.sqrt(np.pi))

    def share(s: float) -> float:
        tail = np.sqrt(np.pi) * erf(s) / (2 * s)
        return -np.expm1(-(s**2)) / (2 * s**2) * tail ** (width - 1)

    m = 2 / np.sqrt(np.pi) * quad(share, 0.0, np.inf, limit=200)[0]
    return float(width * m**2)


def mean_correlations() -> np.ndarray:
    """Return the mean row correlations in closed form, over laws and widths."""
    return np.array([[mean_correlation(law, width) for width in WIDTHS] for law in LAWS])
