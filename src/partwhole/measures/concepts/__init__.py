"""Where a generative model's images are in concept space, and what that says of the model."""

from partwhole.measures.concepts.bump import Bump
from partwhole.measures.concepts.calibration import Calibration, calibration
from partwhole.measures.concepts.capability import Capability, EmergenceGap, capability
from partwhole.measures.concepts.coordinates import between
from partwhole.measures.concepts.decoder import Decoded, decode_shapes
from partwhole.measures.concepts.emergence import Emergence, emergence
from partwhole.measures.concepts.law import (
    EmergenceFit,
    emergence_law,
    emergence_time,
    fit_emergence,
)
from partwhole.measures.concepts.path import (
    PUBLISHED,
    RAW,
    ConceptPath,
    Smoothing,
    concept_path,
)
from partwhole.measures.concepts.turning import (
    Heading,
    TurningPoint,
    initial_heading,
    turning_point,
)

__all__ = [
    "PUBLISHED",
    "RAW",
    "Bump",
    "Calibration",
    "Capability",
    "ConceptPath",
    "Decoded",
    "Emergence",
    "EmergenceFit",
    "EmergenceGap",
    "Heading",
    "Smoothing",
    "TurningPoint",
    "between",
    "calibration",
    "capability",
    "concept_path",
    "decode_shapes",
    "emergence",
    "emergence_law",
    "emergence_time",
    "fit_emergence",
    "initial_heading",
    "turning_point",
]
