"""The four ways to learn a main task beside an auxiliary one, each by its own theory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from partwhole._checks import is_finite, require
from partwhole._types import Real
from partwhole.flows import Diagonal, FlowOutcome, Path, QuadraticLoss, flow
from partwhole.flows.last_stretch import tangent_end
from partwhole.limits import (
    DiagonalWeights,
    Equal,
    HyperbolicEntropy,
    Limit,
    Outcome,
    least_cost,
    linear_probing,
)
from partwhole.limits.diagonal import require_rescale

SINGLE, MULTI, PROBING, FINETUNING = (
    "single-task",
    "multi-task",
    "linear probing",
    "finetuning",
)
METHODS = (SINGLE, MULTI, PROBING, FINETUNING)

# Training losses at which the multi-task flow stops, and how well its error is then to be known.
FITTED = (1e-8, 1e-10, 1e-12)
KNOWN = 0.01


class Method(NamedTuple):
    """Name a way to learn the main task.

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
    """Hold the sizes of initial weights.

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
    """Return the methods asked for, finetuning once for each rescaling.

    Raises
    ------
    InputError
        For an unknown method, none at all, and a rescaling that is not above 0.
    """
    asked = (methods,) if isinstance(methods, str) else tuple(methods)
    unknown = [name for name in asked if name not in METHODS]
    require(
        len(asked) > 0 and not unknown,
        f"methods are among {', '.join(METHODS)}",
        repr(unknown[0]) if unknown else "none",
        "choose some of them",
    )
    found: list[Method] = []
    for name in dict.fromkeys(asked):
        if name != FINETUNING:
            found.append(Method(name))
            continue
        asked_rescalings = [rescalings] if isinstance(rescalings, Real) else list(rescalings)
        require(
            len(asked_rescalings) > 0, "finetuning needs a rescaling", "none", "pass 1 for none"
        )
        for rescale in dict.fromkeys(asked_rescalings):
            require_rescale(rescale)
            found.append(Method(name, float(rescale)))
    return tuple(found)


def require_scales(
    init_scale: Real, readout_scale: Real, rescaled: Literal["all", "hidden"]
) -> Scales:
    """Refuse initial weights that are not above 0."""
    for name, scale in (("init_scale", init_scale), ("readout_scale", readout_scale)):
        require(
            is_finite(scale) and scale > 0,
            f"{name} is a finite number above 0",
            repr(scale),
            "take a small one, such as 0.001",
        )
    return Scales(float(init_scale), float(readout_scale), rescaled)


def pretrained_coefficients(
    inputs: Float[np.ndarray, "n d"], targets: Float[np.ndarray, " n"], scales: Scales
) -> tuple[Float[np.ndarray, " d"], str]:
    """Return where pretraining on a sample of the auxiliary task ends, and a note if it doesn't."""
    cost = HyperbolicEntropy.from_weights(DiagonalWeights.constant(inputs.shape[1], scales.init))
    limit = least_cost(inputs, targets, cost, Equal(), intercept="none")
    return limit.coefficients, stopped_early(limit)


def stopped_early(limit: Limit) -> str:
    """Say why a solve stopped early and how far it got; nothing where it did not."""
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
    """Return where a method ends, exactly, for all but multi-task learning.

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
        return linear_probing(inputs, targets, weights.for_finetuning(readout_scale=readout))
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
    return least_cost(inputs, targets, cost, Equal(), intercept="none")


class MultitaskEnd(NamedTuple):
    """Hold where multi-task learning ends.

    Parameters
    ----------
    error : float
        The main task's expected squared error.
    path : Path
        The last stretch that was followed.
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
    rtol: Real = 1e-7,
    atol: Real = 1e-10,
) -> MultitaskEnd:
    """Follow multi-task learning until its error is known to a percent.

    The flow stops at a training loss of 1e-8 and is ended by its tangent; where that may be more
    than a percent off, the flow goes on to 1e-10, then to 1e-12.

    Parameters
    ----------
    auxiliary, main : QuadraticLoss
    truth : float array, shape (d,)
        Coefficients of the main task's teacher.
    scales : Scales
    share : float, keyword-only
        What the main task weighs.
    nothing : float, keyword-only
        The main task's loss of answering 0, of which the training losses above are shares.
    resolution : float, keyword-only
        Errors below it need not be told apart.
    max_gradients : int, keyword-only, default 100,000
        Of each stretch.
    rtol, atol : float, keyword-only
        As in `flow`.

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
        known = neglected <= KNOWN * error or max(error, followed) <= resolution
        if known or fitted == FITTED[-1]:
            return MultitaskEnd(error, path)
    raise AssertionError  # unreachable: the last stretch returns
