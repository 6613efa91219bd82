"""Training of many small networks at once, and its results."""

from partwhole._extras import needs

needs("train", "partwhole.training")

from partwhole.training._rate_search import LearningRateSearch as LearningRateSearch
from partwhole.training._rate_search import RateOutcome as RateOutcome
from partwhole.training.beside_theory import BesideTheory as BesideTheory
from partwhole.training.beside_theory import beside_theory as beside_theory
from partwhole.training.concept_classifier import ConceptClassifier as ConceptClassifier
from partwhole.training.concept_classifier import (
    train_concept_classifier as train_concept_classifier,
)
from partwhole.training.diffusion.bits import BitsPerDimension as BitsPerDimension
from partwhole.training.diffusion.bits import bits_per_dimension as bits_per_dimension
from partwhole.training.diffusion.prompt import Prompt as Prompt
from partwhole.training.diffusion.sampling import Sampling as Sampling
from partwhole.training.gated_limits import ReachedLimit as ReachedLimit
from partwhole.training.gated_limits import distinct_limits as distinct_limits
from partwhole.training.images.transfer import train_transfer as train_transfer
from partwhole.training.kernel_regime import KernelRegime as KernelRegime
from partwhole.training.kernel_regime import kernel_regime as kernel_regime
from partwhole.training.learning_rate import search_learning_rate as search_learning_rate
from partwhole.training.margin_ascent import ascend_margin as ascend_margin
from partwhole.training.outcome import Outcome as Outcome
from partwhole.training.relu_probing import ProbingRuns as ProbingRuns
from partwhole.training.relu_probing import relu_probing as relu_probing
from partwhole.training.rescaling import for_finetuning as for_finetuning
from partwhole.training.rescaling import rescale_after_pretraining as rescale_after_pretraining
from partwhole.training.results import Runs as Runs
from partwhole.training.results import Scores as Scores
from partwhole.training.stationarity import Stationarity as Stationarity
from partwhole.training.stationarity import stationarity as stationarity
from partwhole.training.train import train as train
from partwhole.training.training import Training as Training

__all__ = [
    "BesideTheory",
    "BitsPerDimension",
    "ConceptClassifier",
    "KernelRegime",
    "LearningRateSearch",
    "Outcome",
    "ProbingRuns",
    "Prompt",
    "RateOutcome",
    "ReachedLimit",
    "Runs",
    "Sampling",
    "Scores",
    "Stationarity",
    "Training",
    "ascend_margin",
    "beside_theory",
    "bits_per_dimension",
    "distinct_limits",
    "for_finetuning",
    "kernel_regime",
    "relu_probing",
    "rescale_after_pretraining",
    "search_learning_rate",
    "stationarity",
    "train",
    "train_concept_classifier",
    "train_transfer",
]
