"""What a linear readout of noisy trials will answer, predicted without training it."""

from partwhole.measures.readouts.prediction import Readout as Readout
from partwhole.measures.readouts.prediction import predict_readout as predict_readout

__all__ = ["Readout", "predict_readout"]
