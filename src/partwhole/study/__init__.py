"""Studies: theory beside computation, a module for each question, with claims and verdicts.

A study is a module and a TOML file of the same name. The module has presets and four functions:
`cell` computes one independent unit of work from plain data, `gather` combines the results of all
cells in one dataset, `numbers` returns the numbers that the claims compare, and `figure` draws the
dataset. The TOML file has every sentence: question, answer, caption and claims (see
`declaration.Declaration`). Published numbers are in a CSV file beside them. `run` takes such a
module, its path, or the name under which an installed package registers it; the distribution
``partwhole-studies`` registers those of published claims. `clusters.cluster_at` and `calls.Cluster`
compute cells elsewhere, and `estimates` has further estimates, such as a `median`. What runs and
writes studies is in `execution`, `registry`, `declaration`, `evidence` and `report`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from partwhole._extras import needs

if TYPE_CHECKING:
    from partwhole.study.chart import key as key
    from partwhole.study.chart import series as series
    from partwhole.study.claim import Estimate as Estimate
    from partwhole.study.dataset import layout as layout
    from partwhole.study.dataset import published as published
    from partwhole.study.estimates import geometric_mean as geometric_mean
    from partwhole.study.estimates import mean as mean
    from partwhole.study.estimates import proportion as proportion
    from partwhole.study.execution import Arrays as Arrays
    from partwhole.study.execution import Cells as Cells
    from partwhole.study.execution import Config as Config
    from partwhole.study.execution import run as run

# The module of each name, imported on first use, because `partwhole list` needs few of them.
HOMES = {
    "Arrays": "execution",
    "Cells": "execution",
    "Config": "execution",
    "Estimate": "claim",
    "geometric_mean": "estimates",
    "key": "chart",
    "layout": "dataset",
    "mean": "estimates",
    "proportion": "estimates",
    "published": "dataset",
    "run": "execution",
    "series": "chart",
}
__all__ = list(HOMES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {__all__}")
    if HOMES[name] != "claim":
        needs("plot", f"partwhole.study.{name}")
    value = getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
