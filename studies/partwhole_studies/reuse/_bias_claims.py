"""What is claimed of where multi-task learning ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from partwhole._types import Real
from partwhole.study import Claim
from partwhole.study import plots as plots

PAPER = "Lippl & Lindsey (NeurIPS 2024), penalty of multi-task learning"
CODE = "Lippl & Lindsey (NeurIPS 2024), published code"
FEATURES = 8  # active ones of each task
MIDDLE = 1e-2  # initial weights at which norms are compared


def claims(data: xr.Dataset) -> list[Claim]:
    return [
        *_on_formulas(data),
        *(each for overlap in data.overlap.values for each in _on_the_flow(data, int(overlap))),
        *_on_training(data),
        *(each for overlap in data.overlap.values for each in _on_decay(data, int(overlap))),
        *_on_published_steps(data),
    ]


def _here(statement: str, reference: Real, found: Real, tolerance: Real, **more: Any) -> Claim:
    return Claim(statement, "derived here", reference, found, tolerance, **more)


def distances(found: xr.DataArray, reference: xr.DataArray) -> np.ndarray:
    """Return distances relative to the reference, the axis of seeds first."""
    size = (reference**2).sum("feature", skipna=False)
    away = ((found - reference) ** 2).sum("feature", skipna=False)
    return np.sqrt((away / size).transpose("seed", ...).values)


def _mean(samples: np.ndarray) -> tuple[float, tuple[float, float]]:
    centre, low, high = plots.mean_interval(samples).tolist()
    return centre, (low, high)


def _words(overlap: int) -> str:
    return f"{overlap} of {FEATURES} active features shared"


def _on_formulas(data: xr.Dataset) -> list[Claim]:
    least, reached, away = data.formula.values.tolist()
    note = "Inputs written as formulas; the reference was computed by other programs."
    return [
        _here("Of six samples, the least group norm is 5.1624.", 5.162367, least, 1e-4, note=note),
        _here(
            "Gradient flow from 0.01 ends at a group norm of 5.1754 there, above the least.",
            5.175427,
            reached,
            1e-4,
            note=note,
        ),
        _here(
            "It ends 0.115 away from the least group norm, relative to the size of the solution.",
            0.1153,
            away,
            2e-4,
            note=note,
        ),
    ]


def _on_the_flow(data: xr.Dataset, overlap: int) -> list[Claim]:
    some = data.sel(overlap=overlap)
    scales = np.sort(data.scale.values)
    least, words = float(scales[0]), _words(overlap)
    away = distances(some.ends, some.least)
    at = {float(scale): away[:, i] for i, scale in enumerate(data.scale.values)}
    mean, interval = _mean(at[least])
    farther, band = _mean(at[least] - at[MIDDLE])
    excess = {float(each): some.excess.sel(scale=each).values for each in scales}
    norm, norm_band = _mean(excess[MIDDLE])
    rise, rise_band = _mean(excess[least] - excess[MIDDLE])
    tuned, tuned_band = _mean(distances(some.ends.sel(scale=least), some.tuned.sel(scale=least)))
    n = len(data.seed)
    return [
        Claim(
            "Multi-task learning by gradient flow from small weights ends at the least group "
            f"norm: distance of the main task's coefficients from it, from {least:g}, mean of {n} "
            f"tasks, {words}.",
            PAPER,
            0.0,
            mean,
            0.01,
            interval,
            relation="at most",
            note="The flow itself is good to 0.001. The group norm is what weights cost, not "
            "what gradient flow minimises.",
        ),
        _here(
            f"Smaller initial weights bring it no nearer: distance from {least:g} less that from "
            f"{MIDDLE:g}, mean of {n} tasks, {words}.",
            0.0,
            farther,
            0.0,
            interval=band,
            relation="at least",
        ),
        _here(
            "The group norm itself hardly tells: it is at most 6 % above the least, from "
            f"{MIDDLE:g}, mean of {n} tasks, {words}.",
            0.06,
            norm,
            0.0,
            interval=norm_band,
            relation="at most",
        ),
        _here(
            f"The group norm, too, is no nearer to the least from {least:g} than from {MIDDLE:g}: "
            f"what it is above the least rises, mean of {n} tasks, {words}.",
            0.0,
            rise,
            0.0,
            interval=rise_band,
            relation="at least",
        ),
        _here(
            "Nor does multi-task learning end where finetuning does, with readouts reset to the "
            f"initial weights of {least:g}: distance at least 0.02, mean of {n} tasks, {words}.",
            0.02,
            tuned,
            0.0,
            interval=tuned_band,
            relation="at least",
        ),
    ]


def _on_training(data: xr.Dataset) -> list[Claim]:
    stepped = distances(data.stepped, data.ends)
    most = float(data.stepped_loss.max())
    return [
        _here(
            "Gradient descent with steps of 0.1 ends where gradient flow does: largest distance "
            f"in {stepped.size} networks.",
            0.0,
            float(stepped.max()),
            0.05,
            relation="at most",
            note="Steps of finite size turn the weights by a little more at each feature learned. "
            f"They end after 200,000 steps or at a training loss of 1e-12; the largest left is "
            f"{2 * most:.1g}.",
        ),
        _here(
            "What gradient flow conserves, w² − |v|² and w₊w₋ + v₊·v₋ of each feature, it "
            f"conserves: largest change in {data.drift.size} flows, of weights of about 1.",
            0.0,
            float(data.drift.max()),
            2e-3,
            relation="at most",
            note="By how much the integration lets it drift.",
        ),
    ]


def _on_decay(data: xr.Dataset, overlap: int) -> list[Claim]:
    some, words = data.sel(overlap=overlap), _words(overlap)
    weak, next_weak = np.sort(data.decay.values)[:2]
    away = distances(some.decayed_weights, some.decayed_least)
    at = {float(each): away[:, i] for i, each in enumerate(data.decay.values)}
    mean, interval = _mean(at[float(weak)])
    slopes = np.log(at[float(next_weak)] / at[float(weak)]) / np.log(next_weak / weak)
    slope, band = _mean(slopes)
    stepped = distances(some.decayed_stepped, some.decayed_lasso)
    stepped = stepped[np.isfinite(stepped)]
    above = some.decayed_stepped_excess.values
    n = len(data.seed)
    return [
        Claim(
            "With weight decay it does end at the least group norm: distance of the main task's "
            f"coefficients from it with a decay of {weak:g}, mean of {n} tasks, {words}.",
            PAPER,
            0.0,
            mean,
            0.01,
            interval,
            relation="at most",
            note="Least error and squared weights, by a general optimiser from random weights.",
        ),
        _here(
            "The distance falls in proportion to weight decay: power of the decay between "
            f"{weak:g} and {next_weak:g}, mean of {n} tasks, {words}.",
            1.0,
            slope,
            0.05,
            interval=band,
        ),
        _here(
            "Least half mean square error and half squared weights are least half mean square "
            "error and group norm: largest relative difference in "
            f"{some.decayed_weights_excess.size} minima, {words}.",
            0.0,
            float(np.abs(some.decayed_weights_excess).max()),
            1e-6,
            relation="at most",
            note="Where the optimiser stops.",
        ),
        _here(
            "Gradient descent with weight decay ends there as well: largest distance of the main "
            f"task's coefficients in {stepped.size} networks, {words}.",
            0.0,
            float(stepped.max()),
            0.02,
            relation="at most",
            note="It stops after 100 times the time in which weights fade, when what is minimised "
            f"is at most {np.nanmax(above):.1g} above the least, relatively.",
        ),
    ]


def _on_published_steps(data: xr.Dataset) -> list[Claim]:
    found = []
    for rows in data.n_main.values.tolist():
        some = data.sel(n_main=rows)
        loss, test = some.published_training_loss, some.published_test_loss
        at = some.published_auxiliary_share.sel(time=1e5)
        early, late = float(test.sel(time=1e4)), float(test.isel(time=-1))
        between = f"; after a million {float(test.sel(time=1e5)):.3g}" if len(test) > 2 else ""
        words = f"with {rows} samples of the main task"
        found += [
            Claim(
                "At the published size a million steps do not reach the published threshold of "
                f"1e-10: training loss by gradient flow {words}.",
                CODE,
                1e-10,
                float(loss.sel(time=1e5)),
                0.0,
                relation="at least",
                note="1,000 features, 1,024 samples of the auxiliary task, steps of 0.1. The "
                f"auxiliary task has {float(at):.0%} of it, being nearly as many samples as "
                "features.",
            ),
            _here(
                "After a hundred thousand steps the test loss of the main task is above that "
                f"after {'ten' if between else 'a'} million: ratio at least 1, {words}.",
                1.0,
                early / late,
                0.0,
                relation="at least",
                note=f"{early:.3g} and {late:.3g}{between}.",
            ),
        ]
    return found
