"""A measurement as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from partwhole import __version__
from partwhole.measurement.readout_words import too_coarse, verdicts_of
from partwhole.measurement.separation import not_apart
from partwhole.measurement.verdicts import headline

if TYPE_CHECKING:
    from partwhole.measurement.measurement import Measurement


def to_json(measurement: Measurement) -> str:
    """Return the measures as JSON; what could not be measured is null."""
    recording, saliences = measurement.recording, measurement.saliences
    counts = np.bincount(recording.condition_of_trial)
    # Shares of nothing are none, here as in the text.
    are_apart = not not_apart(saliences)
    unknown = (math.nan, math.nan)
    document: dict[str, Any] = {
        "partwhole": __version__,
        "headline": headline(measurement),
        "source": measurement.source,
        "settings": measurement.settings,
        "trials": recording.n_trials,
        "neurons": recording.n_neurons,
        "components": [
            {"name": name, "values": [_plain(value) for value in values]}
            for name, values in zip(recording.names, recording.values, strict=True)
        ],
        "conditions": recording.n_conditions,
        "trials_of_condition": counts.tolist(),
        "saliences": _saliences(measurement),
        "resampled": saliences.resampled,
        "structure": saliences.structure if are_apart else math.nan,
        "structure_interval": list(measurement.structure_interval if are_apart else unknown),
        "noise": saliences.noise,
        "dimensions": _dimensions(measurement),
        "gradings": [
            {
                "component": grading.component,
                "kind": grading.kind,
                "ordered": grading.ordered,
                "circular": grading.circular,
                "p_flat": grading.p_flat,
                "p_trend": grading.p_trend,
                "p_ordered": grading.p_ordered,
                "p_circular": grading.p_circular,
                "nearest_steps": grading.nearest_steps,
            }
            for grading in measurement.gradings
        ],
        "abstraction": _abstraction(measurement),
        "held_out": _held_out(measurement),
        "time_course": _time_course(measurement),
        "notes": list(measurement.notes),
    }
    return json.dumps(_finite(document), indent=1, allow_nan=False)


def _saliences(measurement: Measurement) -> list[dict[str, Any]]:
    names = measurement.recording.names
    frame = measurement.saliences_to_frame()
    ends = ["low", "high"], ["low_population", "high_population"]
    return [
        {
            "components": [names[c] for c in members],
            "salience": row["salience"],
            "interval": [row[end] for end in ends[0]],
            "interval_population": [row[end] for end in ends[1]],
        }
        for members, row in zip(
            measurement.saliences.saliences, frame.to_dict("records"), strict=True
        )
    ]


def _dimensions(measurement: Measurement) -> dict[str, Any] | None:
    dimensions = measurement.dimensions
    if dimensions is None:
        return None
    return {
        "value": dimensions.value,
        "interval": list(dimensions.interval),
        "uncorrected": dimensions.uncorrected,
    }


def _abstraction(measurement: Measurement) -> dict[str, Any] | None:
    measured = measurement.abstraction
    if measured is None:
        return None
    document: dict[str, Any] = {
        "parallelism": None, "ccgp": None, "shattering": None,
    }  # fmt: skip
    if (parallel := measured.parallelism) is not None:
        # Of coding vectors hardly longer than noise, a score is a ratio to a length that may be 0.
        known = np.where(measured.has_parallelism, 1.0, np.nan)
        document["parallelism"] = [
            {
                "component": name,
                "score": known[c] * parallel.score[c],
                "interval": parallel.interval[c].tolist(),
                "uncorrected": parallel.plug_in[c],
                "p": known[c] * parallel.p[c],
            }
            for c, name in enumerate(parallel.names)
        ]
    if (general := measured.generalization) is not None:
        document["ccgp"] = [
            {
                "component": name,
                "accuracy": general.by_component[name],
                "of_unrelated_neurons": general.null_by_component[:, c].mean(),
                "p": general.p_by_component[name],
            }
            for c, name in enumerate(general.names)
        ]
    if (shattered := measured.shattering) is not None:
        document["shattering"] = {
            "accuracy": shattered.value,
            "labels_permuted": shattered.chance,
            "of_unrelated_neurons": shattered.ceiling,
            "p": shattered.p,
        }
    return document


def _held_out(measurement: Measurement) -> dict[str, Any] | None:
    readouts = measurement.held_out
    if readouts is None:
        return None
    recording = readouts.recording
    interval, verdicts, rows = readouts.interval, verdicts_of(readouts).words, []
    coarse = too_coarse(readouts)
    for row, condition in enumerate(readouts.condition.tolist()):
        values = zip(recording.values, recording.conditions[condition], strict=True)
        rows.append(
            {
                "set": int(readouts.set_of_row[row]),
                "condition": [_plain(listed[i]) for listed, i in values],
                "trials": int(readouts.n_trials[row]),
                "determined": bool(readouts.determined[row]),
                "answers": [
                    {
                        "output": name,
                        "target": readouts.targets[row, j],
                        "predicted": readouts.predicted[row, j],
                        "interval": interval[row, j].tolist(),
                        "measured": readouts.measured[row, j],
                        "from_saliences": None
                        if readouts.from_saliences is None
                        else readouts.from_saliences[row, j],
                    }
                    for j, name in enumerate(readouts.outputs)
                ],
                "readouts": [
                    {
                        "component": name,
                        "predicted_accuracy": readouts.accuracy[row, j],
                        "interval": readouts.accuracy_interval[row, j].tolist(),
                        "measured_accuracy": readouts.measured_accuracy[row, j],
                        "certainty": readouts.certainty[row, j],
                        "larger_certainty": None
                        if readouts.larger_certainty is None
                        else readouts.larger_certainty[row, j],
                        "verdict": verdicts[row][j],
                        "saliences_predict_another_answer": None
                        if coarse is None
                        else bool(coarse[row, j]),
                    }
                    for j, name in enumerate(readouts.labels)
                ],
            }
        )
    return {
        "ridge": readouts.ridge,
        "larger_ridge": readouts.larger_ridge,
        "chance": dict(zip(readouts.labels, readouts.chance.tolist(), strict=True)),
        "error": readouts.error,
        "budget": readouts.budget,
        "rows": rows,
    }


def _time_course(measurement: Measurement) -> dict[str, Any] | None:
    course = measurement.time_course
    if course is None:
        return None
    names = measurement.recording.names
    return {
        "times": course.times.tolist(),
        "parts_of_squared_distance": [
            {
                "components": [names[c] for c in members],
                "part": course.parts[:, j].tolist(),
                "low": course.low[:, j].tolist(),
                "high": course.high[:, j].tolist(),
                "margin": course.margin[:, j].tolist(),
            }
            for j, members in enumerate(measurement.saliences.saliences)
        ],
    }


def _plain(value: Hashable) -> Any:
    """Return a label as JSON knows it."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, (bool, int, float, str)) or value is None else str(value)


def _finite(value: Any) -> Any:
    """Return data with null in place of numbers that JSON lacks."""
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(entry) for entry in value]
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value
