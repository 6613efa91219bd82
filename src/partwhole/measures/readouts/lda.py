r"""Linear discriminant analysis of noisy trials, predicted from ridge regression on labels.

With K labels of shares :math:`\pi_k`, LDA with a within-label covariance
:math:`S = (W + \rho I) / n` follows from the answers :math:`\eta` of a ridge readout of indicators
of the labels, centred, and its smallest loss R, the matrix of products over outputs:

.. math::
    \delta_k(x) = (\eta P)_k - \tfrac12 P_{kk} + \tfrac1{2 \pi_k} + \log \pi_k, \qquad
    P = (\pi \pi' + R / n)^{-1},

exactly for any training set: with :math:`D = n\, \mathrm{diag}(\pi)` and label means
:math:`\mu`, less the overall mean, ridge weights are
:math:`(n S)^{-1} \mu' (D^{-1} + \mu (n S)^{-1} \mu')^{-1}`, and
:math:`n \pi \pi' + R = (D^{-1} + \mu (n S)^{-1} \mu')^{-1}`. The prediction takes both from the
deterministic equivalent; the variation of P over training sets, of the order of
:math:`1/\sqrt n`, is left out.

Source: optimal scoring, Hastie, Tibshirani and Buja (J. Am. Stat. Assoc. 1994), penalised in
Hastie, Buja and Tibshirani (Ann. Stat. 1995); in terms of the loss, derived here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Bounds, Real
from partwhole.measures.readouts.answers import Answers
from partwhole.measures.readouts.equivalent import answers_of
from partwhole.measures.readouts.labels import label_indices
from partwhole.measures.readouts.means import Means
from partwhole.measures.readouts.noise import LEAST_RIDGE
from partwhole.measures.readouts.trained import Linear


@door
@dataclass(frozen=True)
class LDA:
    r"""Linear discriminant analysis, as scikit-learn's with ``solver="lsqr"``.

    Parameters
    ----------
    shrinkage : float, default 0.0
        Share of the mean variance, times the identity, in the covariance within labels: from 0 to
        below 1, that of scikit-learn, of features that vary. It is a ridge of
        :math:`\rho = \frac{\gamma}{1 - \gamma} \mathrm{tr}\, W / p`, with W the scatter within
        labels. Above 0 where features outnumber trials.

    Examples
    --------
    >>> LDA(shrinkage=0.1)
    LDA(shrinkage=0.1)
    """

    shrinkage: Annotated[Real, Bounds(at_least=0, below=1)] = 0.0

    def answers(
        self,
        means: Means,
        counts: Int[np.ndarray, " A"],
        targets: Float[np.ndarray, "A k"],
    ) -> Answers:
        """Return discriminants at each condition, of trials of those with counts.

        Parameters
        ----------
        means : Means
            Centred over training trials.
        counts : int array, shape (A,)
            Training trials of each condition.
        targets : float array, shape (A, k)
            Labels, as -1 and +1.

        Returns
        -------
        Answers
            The logarithm of the odds for one column, or discriminants for several.
        """
        n_labels = max(2, targets.shape[1])
        indicators = np.eye(n_labels)[label_indices(targets)]
        of_label = counts @ indicators
        n = int(counts.sum())
        n_features = means.spectrum.n_features
        self._require(of_label, n, n_features)
        ridge = self._stretch * self._scatter(means, counts, indicators) / n_features
        ridge += LEAST_RIDGE * means.spectrum.mean_variance
        fits, _ = answers_of(means, counts, indicators, ridge)
        assert fits.loss is not None
        share = of_label / n
        products = np.linalg.inv(np.outer(share, share) + fits.loss / n)
        scale = 1.0 + self._stretch
        weights = scale * products
        offset = 0.5 * scale * (1.0 / share - np.diag(products)) + np.log(share) - share @ weights
        if targets.shape[1] == 1:
            weights, offset = weights[:, 1:] - weights[:, :1], offset[1:] - offset[:1]
        return fits.mapped(weights, offset)

    def train(
        self, features: Float[np.ndarray, "n p"], targets: Float[np.ndarray, "n k"]
    ) -> Linear:
        """Return the discriminants of training trials."""
        n_labels = max(2, targets.shape[1])
        labels = label_indices(targets)
        of_label = np.bincount(labels, minlength=n_labels).astype(float)
        n, p = features.shape
        self._require(of_label, n, p)
        centre = features.mean(axis=0)
        label_means = np.zeros((n_labels, p))
        np.add.at(label_means, labels, features - centre)
        label_means /= of_label[:, None]
        residuals = (features - centre - label_means[labels]) / np.sqrt(n)
        _, values, directions = np.linalg.svd(residuals, full_matrices=False)
        rest = self.shrinkage * float(np.sum(values**2)) / p
        along = (1.0 - self.shrinkage) * values**2 + rest
        kept = along > np.finfo(float).eps * max(n, p) * along.max()
        inverse = np.divide(1.0, along, out=np.zeros_like(along), where=kept)
        parts = directions @ label_means.T
        weights = directions.T @ (inverse[:, None] * parts)
        if rest > 0:
            weights += (label_means.T - directions.T @ parts) / rest
        share = of_label / n
        intercept = np.log(share) - 0.5 * np.einsum("kp,pk->k", label_means, weights)
        if targets.shape[1] == 1:
            weights, intercept = weights[:, 1:] - weights[:, :1], intercept[1:] - intercept[:1]
        return Linear(centre, weights, intercept)

    @property
    def _stretch(self) -> float:
        return self.shrinkage / (1.0 - self.shrinkage)

    def _require(self, of_label: Float[np.ndarray, " K"], n: int, n_features: int) -> None:
        missing = np.flatnonzero(of_label == 0)
        require(
            not len(missing),
            "LDA is trained on trials of every label",
            f"none of {len(missing)} of {len(of_label)} labels",
            "mark trials of them in is_train",
        )
        spare = n - len(of_label)
        require(
            self.shrinkage > 0 or n_features < spare,
            "LDA without shrinkage needs fewer features than training trials less labels",
            f"{n_features} features, and {n} trials less {len(of_label)} labels",
            "raise shrinkage",
        )

    def _scatter(
        self,
        means: Means,
        counts: Int[np.ndarray, " A"],
        indicators: Float[np.ndarray, "A K"],
    ) -> float:
        """Return the mean trace of the scatter of training trials within labels."""
        gram = means.plain()
        shares = counts[:, None] * indicators / (counts @ indicators)
        off_centre = np.eye(len(counts)) - indicators @ shares.T
        of_means = counts @ np.diag(off_centre @ gram @ off_centre.T)
        degrees = counts.sum() - indicators.shape[1]
        of_noise = means.spectrum.n_features * means.spectrum.mean_variance
        return max(float(of_means), 0.0) + degrees * of_noise
