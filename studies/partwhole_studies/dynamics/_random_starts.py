"""Rows of initial matrices W = UU' with random entries: how alike they are, and the swing."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.integrate import quad
from scipy.special import erf, gammaln
from scipy.stats import norm

from partwhole.flows.cholesky_path import cholesky_path
from partwhole.measures.swing import swing_amplitude
from partwhole.study import Claim

LAWS = ("uniform", "Gaussian")
WIDTHS = (3, 16, 256)
QUANTITIES = ("correlation", "diagonal", "off-diagonal", "swing")
RATIO = 0.1  # of the signals
TIMES = np.concatenate([[0.0], np.geomspace(0.1, 200.0, 400)])


def starts(law: str, draws: int, seed: int) -> np.ndarray:
    """Draw two rows of factors; return means and standard errors, shape (widths, quantities, 2).

    The rows' correlation (its absolute value for Gaussian entries), their diagonal and
    off-diagonal entry in W for each column of U, and the swing from 1,000 of them, scaled to a
    mean diagonal entry of .01, in the closed form.
    """
    found = []
    for width in WIDTHS:
        # As much work for each width: the correlation varies less in wide ones.
        n = draws // width
        rng = np.random.default_rng([seed, width])
        draw = rng.random if law == "uniform" else rng.standard_normal
        one, other = draw((2, n, width))
        own, both = (one**2).sum(axis=1), (one * other).sum(axis=1)
        cosine = both / np.sqrt(own * (other**2).sum(axis=1))
        rho = cosine if law == "uniform" else np.abs(cosine)
        few = np.stack([one[:1000], other[:1000]], axis=1)
        w0 = few @ few.swapaxes(1, 2)
        w0 *= 0.01 / (width * (1 / 3 if law == "uniform" else 1.0))
        path = cholesky_path(w0, np.diag([1.0, RATIO]), TIMES)
        swing = np.asarray(swing_amplitude(path.loss(np.array([1.0, np.sqrt(RATIO)]))))
        found.append([_mean(each) for each in (rho, own / width, both / width, 2 * swing / RATIO)])
    return np.array(found)


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
        rest = np.sqrt(np.pi) * erf(s) / (2 * s)
        return -np.expm1(-(s**2)) / (2 * s**2) * rest ** (width - 1)

    m = 2 / np.sqrt(np.pi) * quad(share, 0.0, np.inf, limit=200)[0]
    return float(width * m**2)


def claims(data: xr.DataArray, draws: int) -> list[Claim]:
    """Weigh the correlations and the swing; `data` is over law, width, quantity and statistic."""

    def told(law: str, width: int, quantity: str) -> tuple[float, float]:
        mean, error = data.sel(law=law, width=width, quantity=quantity).values
        return float(mean), float(error)

    z = float(norm.ppf(0.975))
    found = []
    for law, word in (("uniform", "mean"), ("Gaussian", "mean absolute")):
        for width in WIDTHS:
            mean, error = told(law, width, "correlation")
            found.append(
                Claim(
                    f"A factor of {width} columns with {law} entries"
                    + (" above 0" if law == "uniform" else "")
                    + f": {word} correlation of two rows of W, {draws // width:,} draws.",
                    "derived here",
                    mean_correlation(law, width),
                    mean,
                    0.005,
                    interval=(mean - z * error, mean + z * error),
                )
            )
    for quantity, level, word in (
        ("diagonal", 1 / 3, "a third"),
        ("off-diagonal", 1 / 4, "a quarter"),
    ):
        mean, error = told("uniform", 16, quantity)
        found.append(
            Claim(
                f"Uniform entries up to c give W a mean {quantity} entry of {word} of c² for each "
                f"column of the factor, 16 columns, {draws // 16:,} draws.",
                "derived here",
                level,
                mean,
                0.005,
                interval=(mean - z * error, mean + z * error),
            )
        )
    (narrow, one), (wide, other) = (told("Gaussian", width, "swing") for width in (3, 256))
    half = z * float(np.hypot(one, other))
    found.append(
        Claim(
            "From Gaussian entries the swing fades as networks widen: mean swing with 3 columns "
            "less that with 256, 1,000 starts each, by the closed form at a ratio of .1.",
            "Yang et al. (ICLR 2025), appendix E.2",
            0.0,
            narrow - wide,
            0.0,
            (narrow - wide - half, narrow - wide + half),
            relation="at least",
        )
    )
    mean, error = told("uniform", 256, "swing")
    found.append(
        Claim(
            "From entries above 0 it does not fade: mean swing with 256 columns, against that of "
            "Gaussian entries with 3, 1,000 starts each.",
            "derived here",
            narrow,
            mean,
            0.0,
            interval=(mean - z * error, mean + z * error),
            relation="at least",
            note="Such entries, which the published figures start from, keep a correlation near "
            "3/4 at any width.",
        )
    )
    return found
