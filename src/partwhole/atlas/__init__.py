"""What training determines in the splits of published benchmarks, before anything is trained.

`folder.stored_atlas` is that of the benchmarks whose verdicts are shipped, `readers.BENCHMARKS` are
all that can be read from a folder. `find_splits` finds `benchmark.PublishedSplit`s, and a
`folder.Atlas` has a `verdict.Verdict` for each.
"""

from partwhole.atlas import readers as readers
from partwhole.atlas import verdict as verdict
from partwhole.atlas.benchmark import find_splits as find_splits
from partwhole.atlas.folder import write_atlas as write_atlas

__all__ = [
    "find_splits",
    "write_atlas",
]
