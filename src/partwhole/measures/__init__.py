"""Arrays in, numbers out: what a learner's features and predictions are like."""

from partwhole.measures.accuracy import Accuracy as Accuracy
from partwhole.measures.accuracy import accuracy as accuracy
from partwhole.measures.additivity import Additivity as Additivity
from partwhole.measures.additivity import ConjunctionCoefficients as ConjunctionCoefficients
from partwhole.measures.additivity import additivity as additivity
from partwhole.measures.additivity import conjunction_coefficients as conjunction_coefficients
from partwhole.measures.salience import Salience as Salience
from partwhole.measures.salience import salience as salience
from partwhole.measures.slope import Slope as Slope
from partwhole.measures.slope import item_values as item_values
from partwhole.measures.slope import slope as slope
