"""Ridge regression on features of pretrained ReLU networks: hidden units or tangent features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Bool, Float

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Real
from partwhole.networks import MLP
from partwhole.training.engines.two_layers import layers
from partwhole.training.problem import Pair, Samples, checked_samples, require_memory

if TYPE_CHECKING:
    import pandas as pd

Features = Literal["hidden", "tangent"]
# The published penalties.
RIDGES = np.logspace(-5, 10, 100)


@dataclass(frozen=True, eq=False)
class ProbingRuns:
    """Losses of ridge regression at every penalty, for each run.

    Parameters
    ----------
    ridges : float array, shape (m,)
    training_loss : float array, shape (runs, m)
        Mean square error on the samples.
    left_out_loss : float array, shape (runs, m)
        Mean square error on each sample when only it is left out.
    test_loss : float array, shape (runs, m), or None
    """

    ridges: Float[np.ndarray, " m"]
    training_loss: Float[np.ndarray, "runs m"]
    left_out_loss: Float[np.ndarray, "runs m"]
    test_loss: Float[np.ndarray, "runs m"] | None

    @property
    def chosen_ridge(self) -> Float[np.ndarray, " runs"]:
        """Return the penalty with the lowest leave-one-out error; it needs no test set."""
        return self.ridges[self.left_out_loss.argmin(axis=1)]

    @property
    def at_edge(self) -> Bool[np.ndarray, " runs"]:
        """Return whether the chosen penalty is the smallest or the largest of several.

        A penalty beyond the range might then give a lower error.
        """
        ends = (self.ridges.min(), self.ridges.max())
        return np.isin(self.chosen_ridge, ends) & (ends[0] < ends[1])

    @property
    def messages(self) -> tuple[str, ...]:
        """Return a remedy for each run whose penalty is at an edge, and empty strings otherwise."""
        least = float(self.ridges.min())
        return tuple(
            ""
            if not edge
            else f"the penalty chosen, {ridge:.3g}, is the "
            + ("least" if ridge == least else "largest")
            + " of those given; pass ridges that go on beyond it, or inputs and targets of order 1"
            for ridge, edge in zip(self.chosen_ridge.tolist(), self.at_edge.tolist(), strict=True)
        )

    @property
    def chosen_loss(self) -> Float[np.ndarray, " runs"]:
        """Return the test loss at the penalty chosen without the test set."""
        places = self.left_out_loss.argmin(axis=1)[:, None]
        return np.take_along_axis(self._tested(), places, axis=1)[:, 0]

    @property
    def best_loss(self) -> Float[np.ndarray, " runs"]:
        """Return the lowest test loss over all penalties, an oracle: the test set selects.

        The published losses are of this kind.
        """
        return self._tested().min(axis=1)

    @property
    def best_ridge(self) -> Float[np.ndarray, " runs"]:
        """Return the penalty of the oracle's `best_loss`."""
        return self.ridges[self._tested().argmin(axis=1)]

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each run.

        Returns
        -------
        pandas.DataFrame
            With the columns run, chosen_ridge and at_edge. With a test also chosen_loss,
            oracle_best_loss and oracle_best_ridge.
        """
        import pandas as pd

        columns = {
            "run": np.arange(len(self.training_loss)),
            "chosen_ridge": self.chosen_ridge,
            "at_edge": self.at_edge,
        }
        if self.test_loss is not None:
            columns |= {
                "chosen_loss": self.chosen_loss,
                "oracle_best_loss": self.best_loss,
                "oracle_best_ridge": self.best_ridge,
            }
        return pd.DataFrame(columns)

    def _tested(self) -> np.ndarray:
        require(
            self.test_loss is not None,
            "a test loss needs something to test on",
            "no test samples",
            "pass test=(inputs, targets)",
        )
        assert self.test_loss is not None
        return self.test_loss


@door(single=("inputs", "targets", "test"))
def relu_probing(
    networks: MLP,
    inputs: Float[np.ndarray, "runs n d"],
    targets: Float[np.ndarray, "runs n"],
    *,
    features: Features = "hidden",
    intercept: bool = False,
    ridges: Sequence[Real] | Float[np.ndarray, " p"] | None = None,
    test: Pair | None = None,
) -> ProbingRuns:
    r"""Fit the main task by ridge regression on features of pretrained networks.

    .. math:: \min_{u, b} \; |y - \Phi u - b|^2 + \rho |u|^2

    with b = 0 unless there is an intercept.

    Parameters
    ----------
    networks : MLP
        Two layers without biases and one output, ReLU between them; those that were pretrained,
        or initial ones for learning from scratch.
    inputs : float array, shape (runs, n, d)
    targets : float array, shape (runs, n)
    features : {"hidden", "tangent"}, keyword-only, default "hidden"
        "hidden" is linear probing, on the hidden units; "tangent" uses the gradients of the output
        in all weights.
    intercept : bool, keyword-only, default False
        Fit a constant too, without a penalty. The networks themselves have none.
    ridges : sequence of float, keyword-only, default None
        Values of rho, above 0; None for the published ones, 100 from 1e-5 to 1e10.
    test : pair of float arrays, keyword-only, default None
        Inputs and targets, shapes (m, d) and (m,), or (runs, m, d) and (runs, m).

    Returns
    -------
    ProbingRuns

    Raises
    ------
    InputError
        For arrays or networks that don't fit together or aren't finite, penalties that are not
        above 0, an intercept from a single sample, and work that takes over 8 GiB.

    Notes
    -----
    Lippl & Lindsey (NeurIPS 2024), published code, which has an intercept and selects the penalty
    on the test set. Tangent features give nearly the errors of hidden units, as in the published
    numbers, only if the readout is small: pass `for_finetuning(...)` for these. All penalties
    come from one eigendecomposition of the kernel, and errors on samples left out from
    :math:`e_i = \alpha_i / (K + \rho)^{-1}_{ii}` with :math:`\alpha = (K + \rho)^{-1} y`. With an
    intercept, kernel and targets are those of differences between samples: both are projected off
    the constant vector.

    Examples
    --------
    >>> from partwhole.networks import Architecture
    >>> from partwhole.tasks.relu_teachers import ReLUTeachers
    >>> sample = ReLUTeachers(3, 1, correlations=[1]).sample(0, n_main=30, n_test=100)
    >>> network = Architecture(2, 50, "relu", bias=False).network(3, seed=0, outputs=1)
    >>> found = relu_probing(
    ...     network, sample.inputs[None], sample.targets[None],
    ...     test=(sample.test_inputs, sample.test_targets),
    ... )
    >>> bool(found.best_loss[0] <= found.chosen_loss[0] < 0.01)
    True
    """
    runs, _, d = inputs.shape
    task = checked_samples(inputs, targets, (d,), 1, runs, np.dtype(float))
    require(
        not intercept or inputs.shape[1] > 1,
        "an intercept is fitted from two samples or more",
        "one",
        "pass more, or intercept=False",
    )
    names = "test inputs", "test targets"
    double = np.dtype(float)
    tests = None if test is None else checked_samples(
        *test, (d,), 1, runs, double, "squared", names
    )  # fmt: skip
    weights = layers(networks, d, 1, runs)
    penalties = RIDGES if ridges is None else np.asarray(ridges, dtype=float)
    require(
        penalties.size > 0 and bool((penalties > 0).all()),
        "ridges are one or more numbers above 0",
        penalties.tolist() if penalties.size < 9 else f"a least of {penalties.min():g}",
        "pass np.logspace(-5, 10, 100)",
    )
    _require_memory(task, tests, weights[0].shape[1], penalties.size)
    hidden, readout = (layer.astype(float) for layer in weights)
    fits = [
        _fitted(task, tests, run, hidden[run], readout[run, 0], features, intercept, penalties)
        for run in range(runs)
    ]
    test_losses = [fit[2] for fit in fits if fit[2] is not None]
    return ProbingRuns(
        penalties,
        np.stack([fit[0] for fit in fits]),
        np.stack([fit[1] for fit in fits]),
        np.stack(test_losses) if test_losses else None,
    )


def kernel(
    hidden: Float[np.ndarray, "h d"],
    readout: Float[np.ndarray, " h"],
    a: Float[np.ndarray, "n d"],
    b: Float[np.ndarray, "m d"],
    features: Features,
) -> Float[np.ndarray, "n m"]:
    r"""Return products of features without computing the h (d + 1) features of each input.

    .. math:: \sum_h \max(0, w_h^\top x) \max(0, w_h^\top x')
              + x^\top x' \sum_h v_h^2 1[w_h^\top x > 0] 1[w_h^\top x' > 0]

    with the second sum only for tangent features.
    """
    into_a, into_b = a @ hidden.T, b @ hidden.T
    products = np.maximum(into_a, 0) @ np.maximum(into_b, 0).T
    if features == "tangent":
        products += (a @ b.T) * (((into_a > 0) * readout**2) @ (into_b > 0).T)
    return products


def _require_memory(task: Samples, tests: Samples | None, h: int, ridges: int) -> None:
    """Require that the needed memory is within the limit; runs follow one another."""
    runs, n, d = task.inputs.shape
    n_test = 0 if tests is None else tests.count
    # All layers and losses; then for one run the unit outputs on both sides of a kernel, twice,
    # the kernels with their decomposition, and the results at each penalty.
    per_run = (
        2 * h * (n + max(n, n_test)) + n * (7 * n + 4 * ridges) + n_test * (2 * n + 2 * ridges)
    )
    needed = 8.0 * (runs * (h * (d + 1) + 3 * ridges) + per_run)
    require_memory(needed, "pass fewer samples, test inputs or penalties, or fewer runs in a call")


def _fitted(
    task: Samples,
    tests: Samples | None,
    run: int,
    hidden: Float[np.ndarray, "h d"],
    readout: Float[np.ndarray, " h"],
    features: Features,
    intercept: bool,
    ridges: Float[np.ndarray, " m"],
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return the training, leave-one-out and test losses of one run, for all penalties."""
    x, y = (np.asarray(array, dtype=float) for array in task.of(run))
    y = y[:, 0]
    gram = kernel(hidden, readout, x, x, features)
    if intercept:  # an orthonormal basis of all that is orthogonal to the constant vector
        columns = np.eye(len(y))
        columns[:, 0] = 1.0
        basis = np.linalg.qr(columns)[0][:, 1:]
        size, vectors = np.linalg.eigh(basis.T @ gram @ basis)
        vectors = basis @ vectors
    else:
        size, vectors = np.linalg.eigh(gram)
    # Rounding makes some eigenvalues of absent directions negative.
    inverse = 1.0 / (np.maximum(size, 0.0)[:, None] + ridges)
    duals = vectors @ (inverse * (vectors.T @ y)[:, None])
    left_out = duals / (vectors**2 @ inverse)
    trained = ((ridges * duals) ** 2).mean(axis=0)
    if tests is None:
        return trained, (left_out**2).mean(axis=0), None
    points, test_targets = (array.astype(float) for array in tests.of(run))
    constant = (y[:, None] - gram @ duals).mean(axis=0) if intercept else 0.0
    gap = kernel(hidden, readout, points, x, features) @ duals + constant - test_targets
    return trained, (left_out**2).mean(axis=0), (gap**2).mean(axis=0)
