"""Arrays in, numbers out: what a learner's features and predictions are like."""

from partwhole.measures.accuracy import Accuracy, accuracy
from partwhole.measures.additivity import (
    Additivity,
    ConjunctionCoefficients,
    additivity,
    conjunction_coefficients,
)
from partwhole.measures.salience import Salience, salience
from partwhole.measures.slope import Slope, item_values, slope

__all__ = [
    "Accuracy",
    "Additivity",
    "ConjunctionCoefficients",
    "Salience",
    "Slope",
    "accuracy",
    "additivity",
    "conjunction_coefficients",
    "item_values",
    "salience",
    "slope",
]
