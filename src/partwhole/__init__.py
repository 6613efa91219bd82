"""What a learner does with combinations of familiar parts that it has never seen, and why.

tasks
    What is learned and what is held out: `from_frame`, `symbolic_addition`,
    `StructuredIdentity`, `SparseTeachers`, ...
features
    What a learner can express: `OverlapKernel`.
limits
    Where learning ends: `solve`, costs, fits, `solvability`, closed forms.
recordings
    Responses in trials of known conditions: `from_trials`, `Recording`.
measurement
    How compositional is a recording, and what will readouts of it answer? `measure`, also
    ``partwhole measure``.
measures
    Arrays in, numbers out: `salience`, `additivity`, `contrasts`, `slope`, `swing`, `extrema`, ...
flows
    How learning gets there: `flow` of `Tied`, `Deep`, ...; `forecast`, `learning_clocks`, ...
networks
    What is trained: `Architecture`, `MLP`, `image_network`; `networks.diffusion`.
training
    Networks of any family, many at once, diffusion models too: `train`, `Training`.
torch
    Models of torch: `tangent_kernel`, `compare`, `read_samples`, `dataset`, ...
recommendation
    Single-task, multi-task, linear probing or finetuning? `recommend`, `predict_losses`.
comparison
    Learners' answers beside the predictions from their saliences: `compare`.
audit
    Will a training split support its test? `audit_split`, also ``partwhole audit``.
atlas
    What training determines in the splits of published benchmarks: `find_splits`, `write_atlas`.
study
    Theory beside computation, with claims and verdicts; also the command ``partwhole``.

`InputError` is the error of arguments, files and options that break a rule.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from partwhole import (
        atlas,
        audit,
        features,
        flows,
        limits,
        measurement,
        measures,
        networks,
        recommendation,
        recordings,
        study,
        tasks,
        torch,
        training,
    )
    from partwhole._checks import InputError
    from partwhole.audit import audit_split
    from partwhole.comparison import compare
    from partwhole.flows import flow
    from partwhole.limits import solve
    from partwhole.measurement import measure
    from partwhole.recommendation import recommend
    from partwhole.training import Training, train

__version__ = "0.2.0"
__all__ = [
    "InputError",
    "Training",
    "__version__",
    "atlas",
    "audit",
    "audit_split",
    "compare",
    "features",
    "flow",
    "flows",
    "limits",
    "measure",
    "measurement",
    "measures",
    "networks",
    "recommend",
    "recommendation",
    "recordings",
    "solve",
    "study",
    "tasks",
    "torch",
    "train",
    "training",
]
# Names of the public face, and the rooms they live in.
_HOMES = {
    "InputError": "_checks",
    "Training": "training",
    "audit_split": "audit",
    "compare": "comparison",
    "flow": "flows",
    "measure": "measurement",
    "recommend": "recommendation",
    "solve": "limits",
    "train": "training",
}


def __getattr__(name: str) -> Any:
    """Import a room on its first use, so that `import partwhole` stays quick."""
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {__all__}")


def __dir__() -> list[str]:
    return sorted(__all__)
