r"""Ridge readouts of more training conditions than features, from their own trials in closed form.

Means of T conditions then have noise in every direction of their features, and products of means
say less than the scatter of the trials, :math:`X' D X` of measured means and
:math:`\nu \hat\Sigma` of residuals. With

.. math::
    G = (\rho I + X' D X + \nu \hat\Sigma)^{-1}, \qquad w = G X' D y, \qquad
    \mathrm{loss} = y' D y - w' X' D y,

mean answers to held-out conditions are those of these trials, :math:`x_a w`, and no equation has to
be solved. A residual is part of G; without it, it is larger by :math:`c = 1 / (1 - \mathrm{tr}\,
\hat\Sigma G)`. Therefore

.. math::
    F_\Sigma = c^2 G \hat\Sigma G, \quad F_I = G^2, \quad w' \Sigma w \simeq c^2 w' \hat\Sigma w,

estimate :math:`G B G` for fresh noise, and traces of the noise with :math:`G, F_I, F_\Sigma` are

.. math::
    d = c\, \mathrm{tr}\, \hat\Sigma G, \quad u = \mathrm{tr}\, F_\Sigma, \quad
    v = c^4 [\mathrm{tr}\, (\hat\Sigma G)^2 - (\mathrm{tr}\, \hat\Sigma G)^2 / \nu].

In the terms of `equivalent`, :math:`\tilde d = n - 1 - p + \rho\, \mathrm{tr}\, G`, and on average
over training sets

.. math::
    G \simeq \tilde T, \quad
    F_B \simeq \tilde T B \tilde T + \tilde d_B\, \alpha + d_B\, \beta, \quad
    \alpha = \tilde T \Sigma \tilde T, \quad
    (1 + d) \beta = \tilde T - \rho \tilde T^2 - \tilde d \alpha,

where :math:`d_\Sigma = v, d_I = u` and :math:`\tilde d_B = \mathrm{tr}\, G B - \rho\,
\mathrm{tr}\, F_B`. These are linear in :math:`\tilde T^2, \alpha` and :math:`\beta`, and

.. math::
    \mathrm{between}_a = (\mathrm{loss} - \rho |w|^2)\, x_a \alpha x_a
    + w' \Sigma w\, (x_a \beta x_a + 1 / n).

All forms are at true means: at measured ones G has a condition's own trials, which are left out,
and noise of 1/m adds its trace over m, which is subtracted.

Derived here.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from partwhole.measures.readouts.answers import Answers
from partwhole.measures.readouts.means import MeasuredMeans
from partwhole.measures.readouts.resolvent import Estimate


def has_closed_form(means: MeasuredMeans, counts: Int[np.ndarray, " A"]) -> bool:
    """Return whether training conditions, with all their trials, outnumber features."""
    train = counts > 0
    all_trials = np.allclose(counts[train] * means.error[train], 1.0)
    is_estimated = isinstance(means.covariance, Estimate)
    return bool(is_estimated and all_trials and train.sum() - 1 > means.spectrum.n_features)


def closed_answers(
    means: MeasuredMeans,
    counts: Int[np.ndarray, " A"],
    targets: Float[np.ndarray, "A k"],
    ridge: float,
) -> Answers:
    """Return the answers of a ridge readout.

    Parameters
    ----------
    means : MeasuredMeans
        Centred over the training trials, with estimated noise.
    counts, targets, ridge
        As in `equivalent.answers_of`.
    """
    n, p = counts.sum(), means.along.shape[1]
    shares = counts / n
    x = means.along - shares @ means.along
    y = targets - shares @ targets
    noise = means.spectrum.times(np.eye(p))
    degrees = n - np.count_nonzero(counts)
    scatter = ridge * np.eye(p) + (x.T * counts) @ x + degrees * noise
    resolvent = np.linalg.inv(scatter)
    pulled = (x.T * counts) @ y
    weights = resolvent @ pulled
    loss = (y.T * counts) @ y - weights.T @ pulled

    noisy = noise @ resolvent
    trace, square = np.trace(noisy), np.sum(noisy * noisy.T)
    # Without residuals of its own trials, noise is that of the others.
    inflation = 1.0 / (1.0 - trace) if degrees > 1 else 1.0
    squares = inflation**2 * resolvent @ noisy, resolvent @ resolvent
    d, u = inflation * trace, np.trace(squares[0])
    v = inflation**4 * (square - trace**2 / degrees) if degrees > 1 else square
    within = inflation**2 * weights.T @ noise @ weights

    # Forms at true means, without the trials of each condition and with them.
    error, traces = means.error, np.array([d, v, u])
    forms = np.stack([np.sum((x @ of) * x, axis=1) for of in (resolvent, *squares)])
    own = np.maximum(1.0 - counts * forms[0], np.finfo(float).eps)
    forms = forms / own ** np.array([[1], [2], [2]]) - traces[:, None] * error
    deviations = forms - forms.mean(axis=1, keepdims=True)
    of_errors = np.sum(error * (4.0 * np.maximum(forms[1], 0.0) + 2.0 * v * error))
    forms -= min(of_errors / max(np.sum(deviations[0] ** 2), of_errors), 1.0) * deviations
    share = counts * forms[0] / (1.0 + d + counts * forms[0])
    of_resolvent = forms[0] * (1.0 - share)
    of_noise, of_identity = (
        of * (1.0 - share) ** 2 + share**2 * of_fresh * error
        for of, of_fresh in zip(forms[1:], traces[1:], strict=True)
    )
    answers = (1.0 - share[:, None]) * (x @ weights - (1.0 - own)[:, None] * y) / own[:, None]
    answers += share[:, None] * y

    d_tilde = n - 1.0 - p + ridge * np.trace(resolvent)
    of_d_tilde = d - ridge * u, np.trace(resolvent) - ridge * np.trace(squares[1])
    kappa = (d_tilde - ridge * of_d_tilde[1]) / (1.0 + of_d_tilde[0])
    beta = of_resolvent - ridge * of_identity - kappa * of_noise
    beta = np.maximum(beta / (1.0 + d - ridge * u - kappa * v), 0.0)
    alpha = np.maximum((of_noise - v * beta) / (1.0 + of_d_tilde[0]), 0.0)
    residual = loss - ridge * weights.T @ weights
    between = alpha[:, None, None] * residual + (beta + 1.0 / n)[:, None, None] * within
    # Answers to held-out conditions are of one training set, at means of their trials.
    of_means = between + error[:, None, None] * within
    of_means[counts > 0] = 0.0
    return Answers(answers + shares @ targets, between, within, loss, of_means)
