"""Arrays in, numbers out: readings of a learner's features, answers and learning curves.

Those of representations take a `Recording`, most of them arrays too. These are the measures most
often used; the others are in the modules of their subject:

abstraction
    Of a `Recording`: `parallelism` of a component's coding vectors, `ccgp` (how well decoders
    generalize to conditions that they never saw), `shattering_dimensionality`.
additivity, slope, contrasts
    `conjunction_coefficients`, `item_values`.
agreement, alignment
    `decision_agreement` of two learners beyond chance, `inconsistency` of their decisions;
    `alignment` of hidden units with a teacher's.
count_salience
    `count_salience`, for more components than sets can be listed.
dimensions, drift, runs
    `participation_ratio`, `shared_dimensions` before and after, `kernel_drift` of tangent kernels,
    and any measure `over_runs`.
recorded_dimensions, shared_recordings, marginal_variances, graded_similarity
    Of a `Recording`, without its noise: how many dimensions, how many shared with another, how much
    of the variance by set of components, and whether similarity grows with how near values are.
diagnosis
    `diagnose`: learned, slow, failed or broken down.
extrema
    `noise_threshold`, for curves with noise.
hierarchy
    `order_violations` of combinations and their parts.
learning
    `learning_order`, `slowing`.
readouts
    `predict_readout`: what a linear readout of noisy trials will answer, `held_out_readouts` for
    every condition that could be held out; `LDA` and `SVM` for other readouts than ridge.
swing
    `retreat` of an answer from its target.
transfer
    `negative_transfer` beside single-task learning.
concepts
    A generative model in concept space: its `concept_path`, its `capability`, `decode_shapes`,
    `calibration`, `emergence`, ...

Their results are classes of the same modules.
"""

from partwhole.measures import abstraction as abstraction
from partwhole.measures import agreement as agreement
from partwhole.measures import alignment as alignment
from partwhole.measures import concepts as concepts
from partwhole.measures import count_salience as count_salience
from partwhole.measures import diagnosis as diagnosis
from partwhole.measures import dimensions as dimensions
from partwhole.measures import drift as drift
from partwhole.measures import hierarchy as hierarchy
from partwhole.measures import marginal_variances as marginal_variances
from partwhole.measures import transfer as transfer
from partwhole.measures.accuracy import accuracy
from partwhole.measures.additivity import additivity
from partwhole.measures.contrasts import contrasts
from partwhole.measures.extrema import extrema
from partwhole.measures.learning import learning_times
from partwhole.measures.readouts import held_out_readouts, predict_readout
from partwhole.measures.salience import salience
from partwhole.measures.slope import slope
from partwhole.measures.swing import swing

__all__ = [
    "accuracy",
    "additivity",
    "contrasts",
    "extrema",
    "held_out_readouts",
    "learning_times",
    "predict_readout",
    "salience",
    "slope",
    "swing",
]
