"""The four ways to learn a main task beside an auxiliary one, each by its own theory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._types import Real
from partwhole.flows import Diagonal, FlowOutcome, Path, flow
from partwhole.flows.last_stretch import tangent_end
from partwhole.flows.quadratic_loss import QuadraticLoss
from partwhole.limits import (
    DiagonalWeights,
    HyperbolicEntropy,
    Limit,
    Outcome,
)
from partwhole.limits.costs import LinearProbing
from partwhole.limits.diagonal import require_rescale
from partwhole.limits.solve import solve

SINGLE, MULTI, PROBING, FINETUNING = (
    "single-task",
    "multi-task",
    "linear probing",
    "finetuning",
)
METHODS = (SINGLE, MULTI, PROBING, FINETUNING)

# Training losses at which the multi-task flow stops in turn, and the relative accuracy of its error
# at which it need not go on.
FITTED = (1e-8, 1e-10, 1e-12)
ACCURACY = 0.01


class Method(NamedTuple):
    """Way to learn the main task.

    Parameters
    ----------
    name : {"single-task", "multi-task", "linear probing", "finetuning"}
    rescale : float, default 1
        c, by which finetuning multiplies the pretrained first layer before it starts.
    """

    name: str
    rescale: float = 1.0

    @property
    def label(self) -> str:
        """Return the name, with the rescaling where there is one."""
        return f"{self.name}, c = {self.rescale:g}" if self.name == FINETUNING else self.name


class Scales(NamedTuple):
    """Sizes of initial weights.

    Parameters
    ----------
    init : float
        Alpha, at which single-task, multi-task and auxiliary learning set all weights.
    readout : float
        Gamma, to which finetuning resets the readout.
    rescaled : {"all", "hidden"}, default "all"
        What a rescaling multiplies: gamma beside the first layer, or the first layer alone.
    """

    init: float
    readout: float
    rescaled: Literal["all", "hidden"] = "all"

    def readout_after(self, rescale: float) -> float:
        """Return what the readout starts from where the first layer is multiplied by `rescale`."""
        return self.readout * rescale if self.rescaled == "all" else self.readout


def named_methods(methods: Iterable[str], rescalings: Sequence[Real] | Real) -> tuple[Method, ...]:
    """Return the methods of these names, finetuning once for each rescaling.

    Raises
    ------
    InputError
        For an unknown method, none at all, and a rescaling that is not above 0.
    """
    names = (methods,) if isinstance(methods, str) else tuple(methods)
    unknown = [name for name in names if name not in METHODS]
    require(
        len(names) > 0 and not unknown,
        f"methods are among {', '.join(METHODS)}",
        repr(unknown[0]) if unknown else "none",
        "choose some of them",
    )
    result: list[Method] = []
    for name in dict.fromkeys(names):
        if name != FINETUNING:
            result.append(Method(name))
            continue
        rescales = [rescalings] if isinstance(rescalings, Real) else list(rescalings)
        require(len(rescales) > 0, "finetuning needs a rescaling", "none", "pass 1 for none")
        for rescale in dict.fromkeys(rescales):
            require_rescale(rescale)
            result.append(Method(name, float(rescale)))
    return tuple(result)


def pretrained_coefficients(
    inputs: Float[np.ndarray, "n d"], targets: Float[np.ndarray, " n"], scales: Scales
) -> tuple[Float[np.ndarray, " d"], str]:
    """Return the coefficients at the end of pretraining, and a note if the solve stopped early."""
    cost = HyperbolicEntropy.from_weights(DiagonalWeights.constant(inputs.shape[1], scales.init))
    limit = solve((inputs, targets), cost=cost, intercept="none")
    return limit.coefficients, stopped_early(limit)


def stopped_early(limit: Limit) -> str:
    """Return why a solve stopped early and its violation; an empty text where it did not."""
    if limit.outcome is Outcome.SOLVED:
        return ""
    return f"{limit.outcome.value} (a row is missed by {limit.violation:.1e})"


def end_of(
    method: Method,
    inputs: Float[np.ndarray, "n d"],
    targets: Float[np.ndarray, " n"],
    pretrained: Float[np.ndarray, " d"],
    scales: Scales,
) -> Limit:
    """Return the exact limit of single-task learning, linear probing or finetuning.

    Parameters
    ----------
    method : Method
    inputs : float array, shape (n, d)
    targets : float array, shape (n,)
    pretrained : float array, shape (d,)
        Coefficients of the auxiliary task.
    scales : Scales

    Returns
    -------
    Limit
    """
    readout = scales.readout_after(method.rescale)
    if method.name == PROBING:
        weights = DiagonalWeights.pretrained(pretrained, scales.init)
        return solve(
            (inputs, targets),
            cost=LinearProbing.of(weights.for_finetuning(readout_scale=readout)),
            intercept="none",
        )
    if method.name == SINGLE:
        weights = DiagonalWeights.constant(inputs.shape[1], scales.init)
        cost = HyperbolicEntropy.from_weights(weights)
    else:
        cost = HyperbolicEntropy.after_finetuning(
            pretrained,
            readout_scale=readout,
            init_scale=scales.init,
            rescale=method.rescale,
        )
    return solve((inputs, targets), cost=cost, intercept="none")


class MultitaskEnd(NamedTuple):
    """End of multi-task learning.

    Parameters
    ----------
    error : float
        The main task's expected squared error.
    path : Path
        The last stretch of the flow.
    """

    error: float
    path: Path


def multitask_end(
    auxiliary: QuadraticLoss,
    main: QuadraticLoss,
    truth: Float[np.ndarray, " d"],
    scales: Scales,
    *,
    share: float,
    nothing: float,
    resolution: float,
    max_gradients: int = 100_000,
    rtol: Real = 1e-5,
    atol: Real = 1e-8,
) -> MultitaskEnd:
    """Integrate multi-task learning until its error is accurate to a percent.

    The flow stops at a training loss of 1e-8, and its tangent there extrapolates to the end. If
    the extrapolation may be wrong by more than a percent, the flow continues to 1e-10, then to
    1e-12.

    Parameters
    ----------
    auxiliary, main : QuadraticLoss
    truth : float array, shape (d,)
        Coefficients of the main task's teacher.
    scales : Scales
    share : float, keyword-only
        Weight of the main task in the loss.
    nothing : float, keyword-only
        The main task's loss for the answer 0; the training losses above are shares of it.
    resolution : float, keyword-only
        Errors below it need not be accurate.
    max_gradients : int, keyword-only, default 100,000
        Of each stretch.
    rtol, atol : float, keyword-only, default 1e-5 and 1e-8
        As in `flow`. With 1,000 features, and 64 or 256 samples beside 1,000 auxiliary ones, errors
        differ by at most .2 % from those with 1e-7, in less than half of the time.

    Returns
    -------
    MultitaskEnd
    """
    tasks, weights = (auxiliary, main), DiagonalWeights.constant(len(truth), scales.init, n_tasks=2)
    for fitted in FITTED:
        path = flow(
            Diagonal(weights, tasks=tasks, shares=(1.0 - share, share)),
            until=fitted * share * nothing, max_gradients=max_gradients, rtol=rtol, atol=atol,
        )  # fmt: skip
        weights = path.end
        followed = float(np.sum((weights.coefficients[1] - truth) ** 2))
        if path.outcome is not FlowOutcome.FITTED:
            return MultitaskEnd(followed, path)
        end = tangent_end(weights, tasks)
        error = float(np.sum((end.coefficients[1] - truth) ** 2))
        neglected = end.growth * abs(error - followed)
        is_accurate = neglected <= ACCURACY * error or max(error, followed) <= resolution
        if is_accurate or fitted == FITTED[-1]:
            return MultitaskEnd(error, path)
    raise AssertionError  # unreachable: the last stretch returns
