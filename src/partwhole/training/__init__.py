"""Training of networks of any family, and its results.

These are most often used. The others are in the modules of their subject:

logs, following
    `CSVLog`, `JSONLines` and `TensorBoard` of losses on the way, of a `StepRecord` each.
outcome, learning_rate, diffusion.bits
    `Outcome` of each run, `search_learning_rate`, `bits_per_dimension` of images.
margin_ascent, stationarity, gated_limits
    `ascend_margin` to the end of training, `stationarity` there, and `distinct_limits`.
rescaling
    `rescale_after_pretraining`, and weights `for_finetuning`.
relu_probing
    `relu_probing`, ridge regression on features of pretrained networks.
results, concepts, diffusion.records
    `Scores` of image networks, `ConceptAnswers` and `DiffusionRecords` of `Runs`.

Results of other functions are classes of the same modules.
"""

from partwhole._extras import needs

needs("train", "partwhole.training")

from partwhole.training import following as following
from partwhole.training import gated_limits as gated_limits
from partwhole.training import learning_rate as learning_rate
from partwhole.training import logs as logs
from partwhole.training import margin_ascent as margin_ascent
from partwhole.training import outcome as outcome
from partwhole.training import relu_probing as relu_probing
from partwhole.training import rescaling as rescaling
from partwhole.training import stationarity as stationarity
from partwhole.training.beside_theory import beside_theory as beside_theory
from partwhole.training.concept_classifier import (
    train_concept_classifier as train_concept_classifier,
)
from partwhole.training.diffusion.prompt import Prompt as Prompt
from partwhole.training.diffusion.sampling import Sampling as Sampling
from partwhole.training.kernel_regime import kernel_regime as kernel_regime
from partwhole.training.results import Runs as Runs
from partwhole.training.train import train as train
from partwhole.training.training import Training as Training

__all__ = [
    "Prompt",
    "Runs",
    "Sampling",
    "Training",
    "beside_theory",
    "kernel_regime",
    "train",
    "train_concept_classifier",
]
