"""Readers of published benchmarks, a family in each file."""

from partwhole.atlas.readers.commands import SCAN
from partwhole.atlas.readers.functions import PCFG
from partwhole.atlas.readers.grids import DSPRITES, MPI3D, SHAPES3D
from partwhole.atlas.readers.grounded import GSCAN
from partwhole.atlas.readers.groups import CELEBA, WATERBIRDS
from partwhole.atlas.readers.pairs import C_GQA, MIT_STATES, UT_ZAPPOS
from partwhole.atlas.readers.questions import CFQ
from partwhole.atlas.readers.scenes import COGENT
from partwhole.atlas.readers.sentences import COGS

#: The published benchmarks that `find_splits` knows, with the forms of their files.
BENCHMARKS = (
    SCAN, COGS, CFQ, GSCAN, PCFG,
    MIT_STATES, UT_ZAPPOS, C_GQA,
    DSPRITES, SHAPES3D, MPI3D, COGENT,
    WATERBIRDS, CELEBA,
)  # fmt: skip
