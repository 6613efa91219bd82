"""Arrays in, numbers out: what a learner's features and predictions are like."""

from partwhole.measures.accuracy import Accuracy, accuracy
from partwhole.measures.additivity import (
    Additivity,
    ConjunctionCoefficients,
    additivity,
    conjunction_coefficients,
)
from partwhole.measures.agreement import Agreement, decision_agreement, inconsistency
from partwhole.measures.alignment import Alignment, alignment
from partwhole.measures.concepts import (
    Bump,
    Calibration,
    Capability,
    ConceptPath,
    Decoded,
    Emergence,
    EmergenceFit,
    EmergenceGap,
    Heading,
    Smoothing,
    TurningPoint,
    calibration,
    capability,
    concept_path,
    decode_shapes,
    emergence,
    emergence_law,
    emergence_time,
    fit_emergence,
    initial_heading,
    turning_point,
)
from partwhole.measures.contrasts import Contrasts, contrasts
from partwhole.measures.count_salience import CountSalience, count_salience
from partwhole.measures.diagnosis import Diagnosis, Progress, diagnose
from partwhole.measures.dimensions import (
    SharedDimensions,
    participation_ratio,
    shared_dimensions,
)
from partwhole.measures.drift import kernel_drift
from partwhole.measures.extrema import Extrema, descents, extrema, noise_threshold
from partwhole.measures.hierarchy import OrderViolations, order_violations
from partwhole.measures.learning import (
    LearningOrder,
    Slowing,
    learning_order,
    learning_times,
    slowing,
)
from partwhole.measures.runs import RunInterval, over_runs
from partwhole.measures.salience import Salience, salience
from partwhole.measures.selection import Selected, select
from partwhole.measures.slope import Slope, item_values, slope
from partwhole.measures.swing import Retreat, Swing, retreat, swing, swing_amplitude
from partwhole.measures.transfer import NegativeTransfer, negative_transfer

__all__ = [
    "Accuracy",
    "Additivity",
    "Agreement",
    "Alignment",
    "Bump",
    "Calibration",
    "Capability",
    "ConceptPath",
    "ConjunctionCoefficients",
    "Contrasts",
    "CountSalience",
    "Decoded",
    "Diagnosis",
    "Emergence",
    "EmergenceFit",
    "EmergenceGap",
    "Extrema",
    "Heading",
    "LearningOrder",
    "NegativeTransfer",
    "OrderViolations",
    "Progress",
    "Retreat",
    "RunInterval",
    "Salience",
    "Selected",
    "SharedDimensions",
    "Slope",
    "Slowing",
    "Smoothing",
    "Swing",
    "TurningPoint",
    "accuracy",
    "additivity",
    "alignment",
    "calibration",
    "capability",
    "concept_path",
    "conjunction_coefficients",
    "contrasts",
    "count_salience",
    "decision_agreement",
    "decode_shapes",
    "descents",
    "diagnose",
    "emergence",
    "emergence_law",
    "emergence_time",
    "extrema",
    "fit_emergence",
    "inconsistency",
    "initial_heading",
    "item_values",
    "kernel_drift",
    "learning_order",
    "learning_times",
    "negative_transfer",
    "noise_threshold",
    "order_violations",
    "over_runs",
    "participation_ratio",
    "retreat",
    "salience",
    "select",
    "shared_dimensions",
    "slope",
    "slowing",
    "swing",
    "swing_amplitude",
    "turning_point",
]
