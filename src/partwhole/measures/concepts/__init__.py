"""A generative model in concept space: its path, its capability and its emergence.

Further names are in the modules: the law of emergence and its times in `law`, the heading and the
turning point of a path in `turning`, readings between two values in `coordinates`, a regression
that reads concepts in numbers in `regressor`; results are classes of the module of their function.
"""

from partwhole.measures.concepts.calibration import calibration
from partwhole.measures.concepts.capability import capability
from partwhole.measures.concepts.decoder import decode_shapes
from partwhole.measures.concepts.emergence import emergence
from partwhole.measures.concepts.law import fit_emergence
from partwhole.measures.concepts.path import PUBLISHED, RAW, Smoothing, concept_path

__all__ = [
    "PUBLISHED",
    "RAW",
    "Smoothing",
    "calibration",
    "capability",
    "concept_path",
    "decode_shapes",
    "emergence",
    "fit_emergence",
]
