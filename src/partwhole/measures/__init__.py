"""Arrays in, numbers out: what a learner's features and predictions are like."""

from partwhole.measures.accuracy import Accuracy, accuracy
from partwhole.measures.additivity import (
    Additivity,
    ConjunctionCoefficients,
    additivity,
    conjunction_coefficients,
)
from partwhole.measures.count_salience import CountSalience, count_salience
from partwhole.measures.salience import Salience, salience
from partwhole.measures.slope import Slope, item_values, slope

__all__ = [
    "Accuracy",
    "Additivity",
    "ConjunctionCoefficients",
    "CountSalience",
    "Salience",
    "Slope",
    "accuracy",
    "additivity",
    "conjunction_coefficients",
    "count_salience",
    "item_values",
    "salience",
    "slope",
]
