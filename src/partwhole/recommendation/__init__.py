"""Single-task, multi-task, linear probing or finetuning: which, with numbers.

`trained.trained_losses` trains what is predicted. The results are `advice.Advice`,
`predicted.PredictedLosses` and `trained.TrainedLosses`, by `methods.Method`.
"""

from partwhole._extras import needs

needs("train", "partwhole.recommendation")

from partwhole.recommendation import trained as trained
from partwhole.recommendation.advice import recommend as recommend
from partwhole.recommendation.predicted import predict_losses as predict_losses

__all__ = [
    "predict_losses",
    "recommend",
]
