"""What training determines in the splits of published benchmarks, before anything is trained."""

from partwhole.atlas.benchmark import PublishedSplit as PublishedSplit
from partwhole.atlas.benchmark import find_splits as find_splits
from partwhole.atlas.folder import Atlas as Atlas
from partwhole.atlas.folder import stored_atlas as stored_atlas
from partwhole.atlas.folder import write_atlas as write_atlas
from partwhole.atlas.readers import BENCHMARKS as BENCHMARKS
from partwhole.atlas.verdict import Verdict as Verdict

__all__ = [
    "BENCHMARKS",
    "Atlas",
    "PublishedSplit",
    "Verdict",
    "find_splits",
    "stored_atlas",
    "write_atlas",
]
