"""Single-task, multi-task, linear probing or finetuning: which, with numbers."""

from partwhole._extras import needs

needs("train", "partwhole.recommendation")

from partwhole.recommendation.advice import Recommendation as Recommendation
from partwhole.recommendation.advice import recommend as recommend
from partwhole.recommendation.methods import Method as Method
from partwhole.recommendation.predicted import PredictedLosses as PredictedLosses
from partwhole.recommendation.predicted import SamplesNeeded as SamplesNeeded
from partwhole.recommendation.predicted import predict_losses as predict_losses
from partwhole.recommendation.trained import TrainedLosses as TrainedLosses
from partwhole.recommendation.trained import train_beside as train_beside

__all__ = [
    "Method",
    "PredictedLosses",
    "Recommendation",
    "SamplesNeeded",
    "TrainedLosses",
    "predict_losses",
    "recommend",
    "train_beside",
]
