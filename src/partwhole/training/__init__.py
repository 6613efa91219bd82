"""Training of networks of any family, and its results.

These are most often used. The others are in the modules of their subject:

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

from partwhole.training.beside_theory import beside_theory as beside_theory
from partwhole.training.concept_classifier import (
    train_concept_classifier as train_concept_classifier,
)
from partwhole.training.diffusion.bits import bits_per_dimension as bits_per_dimension
from partwhole.training.diffusion.prompt import Prompt as Prompt
from partwhole.training.diffusion.sampling import Sampling as Sampling
from partwhole.training.following import StepRecord as StepRecord
from partwhole.training.images.transfer import train_transfer as train_transfer
from partwhole.training.kernel_regime import kernel_regime as kernel_regime
from partwhole.training.learning_rate import search_learning_rate as search_learning_rate
from partwhole.training.logs import CSVLog as CSVLog
from partwhole.training.logs import JSONLines as JSONLines
from partwhole.training.logs import TensorBoard as TensorBoard
from partwhole.training.outcome import Outcome as Outcome
from partwhole.training.results import Runs as Runs
from partwhole.training.train import train as train
from partwhole.training.training import Training as Training

__all__ = [
    "CSVLog",
    "JSONLines",
    "Outcome",
    "Prompt",
    "Runs",
    "Sampling",
    "StepRecord",
    "TensorBoard",
    "Training",
    "beside_theory",
    "bits_per_dimension",
    "kernel_regime",
    "search_learning_rate",
    "train",
    "train_concept_classifier",
    "train_transfer",
]
