"""``partwhole measure``: how compositional a recording is, and what readouts of it answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import Positional, arg

from partwhole._checks import require
from partwhole.cli.help import with_options
from partwhole.cli.streams import print_inert

if TYPE_CHECKING:
    import numpy as np

    from partwhole.recordings import Recording


def measure(
    responses: Annotated[Positional[str], arg(metavar="RESPONSES", help_behavior_hint="")],
    conditions: Annotated[Positional[str], arg(metavar="CONDITIONS", help_behavior_hint="")],
    components: Annotated[tuple[str, ...], arg(metavar="COLUMN ...", help_behavior_hint="")] = (),
    groups: Annotated[str | None, arg(metavar="COLUMN", help_behavior_hint="")] = None,
    sessions: Annotated[str | None, arg(metavar="COLUMN", help_behavior_hint="")] = None,
    times: Annotated[str | None, arg(metavar="FILE", help_behavior_hint="")] = None,
    trial_axis: int = 0,
    window: Annotated[
        tuple[float, float] | None, arg(metavar="START STOP", help_behavior_hint="")
    ] = None,
    missing: Literal["refuse", "drop"] = "refuse",
    whiten: Literal["none", "diagonal", "full"] = "none",
    held_out: Literal["each", "pairs", "none"] = "each",
    split: Annotated[str | None, arg(metavar="COLUMN", help_behavior_hint="")] = None,
    train: str = "train",
    classifier: Literal["ridge", "lda", "svm"] = "ridge",
    ridge: Annotated[float | None, arg(metavar="PENALTY", help_behavior_hint="")] = None,
    bootstrap: int = 500,
    seed: int = 0,
    html: Annotated[Path | None, arg(metavar="PATH", help_behavior_hint="")] = None,
    json: Annotated[Path | None, arg(metavar="PATH", help_behavior_hint="")] = None,
    output: Annotated[Path | None, arg(metavar="PATH", help_behavior_hint="")] = None,
) -> None:
    """Measure how compositional a recording is, and what readouts of it answer.

    Prints saliences with intervals, and readouts of held-out conditions.

    For example: partwhole measure responses.npy conditions.csv --groups run

    Args:
        responses: File with a row for each trial and a column for each neuron, voxel or unit, and
            perhaps a third axis for time: .npy, .npz, .csv, .tsv, .parquet, .mat or .nc; write
            FILE:NAME for one of several arrays.
        conditions: File with a row for each trial and a column for each component: .csv, .tsv,
            .parquet, .jsonl, .mat, .npy or .npz.
        components: Columns that name the condition; by default all others than those of groups and
            sessions.
        groups: Column of runs or blocks, whose trials may share noise.
        sessions: Column of sessions, if neurons were not all recorded together.
        times: File with a number for each time: .npy, .csv, ..., or FILE:NAME for an array of a
            .npz, .mat or .nc file; by default the times of a .nc file, else indices from 0.
        trial_axis: Axis of the responses that counts trials; -1 is the last, as in many .mat files.
        window: Times over which responses are averaged.
        missing: Whether to refuse trials with missing entries, or to leave them out.
        whiten: Divide responses by the standard deviation of their noise (diagonal), or decorrelate
            it (full).
        held_out: Hold out every condition by itself, every two of them, or none.
        split: Column that marks conditions to hold out instead: those of an entry are held out
            together.
        train: The entry of the split column that marks training trials.
        classifier: Readouts by ridge regression, linear discriminants, or a linear support vector
            machine (components of two values).
        ridge: Penalty of ridge readouts; by default the mean variance of a neuron.
        bootstrap: Resamples for intervals.
        seed: For everything that is drawn at random.
        html: File for the page.
        json: File for all results.
        output: CSV file with a row for each held-out condition.
    """
    from partwhole.audit.outputs.files import check_outputs, write_all
    from partwhole.measurement import measure as measured
    from partwhole.recordings import read

    files = {"--html": html, "--json": json, "--output": output}
    chosen = {option: path for option, path in files.items() if path is not None}
    inputs = [("RESPONSES", Path(responses)), ("CONDITIONS", Path(conditions))]
    if times is not None:
        inputs.append(("--times", Path(times)))
    check_outputs(list(chosen.items()), inputs)
    require(
        output is None or held_out != "none" or split is not None,
        "--output has a row for each held-out condition",
        "--held-out none",
        "leave one of them out",
    )
    recording = read(
        responses,
        conditions,
        components=[*components, split] if components and split else list(components) or None,
        groups=groups,
        sessions=sessions,
        times=times,
        missing=missing,
        trial_axis=trial_axis,
    )
    sets: Any = held_out
    if split is not None:
        recording, sets = _marked(recording, split, train)
    result = measured(
        recording,
        held_out=sets,
        classifier=classifier,
        ridge=ridge,
        whiten=whiten,
        window=window,
        bootstrap=bootstrap,
        seed=seed,
        source=Path(responses).name,
    )
    result = replace(result, notes=tuple(with_options(note, measure) for note in result.notes))
    forms = {
        "--html": result.to_html,
        "--json": result.to_json,
        "--output": lambda: result.to_frame("all").to_csv(index=False, float_format="%.6g"),
    }
    write_all({path: forms[option]() for option, path in chosen.items()})
    print_inert(result.describe() + "\n")
    for option, path in chosen.items():
        print_inert(f"{option.removeprefix('--').upper()}: {path}\n")


def _marked(recording: Recording, split: str, train: str) -> tuple[Recording, np.ndarray]:
    """Return the recording without its split, and a mask of trials for each held-out set."""
    import numpy as np

    from partwhole.recordings.building import one_value

    require(
        one_value(split) not in recording.notes,
        "a split has training trials and others",
        f"one entry in all trials of {split!r}",
        "name another column by --split",
    )
    rest, entries = recording.split_off(split)
    marks = np.array([str(entry) for entry in entries])
    sets = [name for name in dict.fromkeys(marks) if name != train]
    require(
        bool(sets) and train in marks,
        "a split has training trials and others",
        f"the entries {', '.join(map(repr, dict.fromkeys(marks.tolist())))}",
        "name that of training by --train",
    )
    return rest, np.array([marks == name for name in sets])
