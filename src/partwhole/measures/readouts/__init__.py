"""What a linear readout of noisy trials will answer, predicted without training it."""

from partwhole.measures.readouts.held_out import held_out_readouts
from partwhole.measures.readouts.held_out_result import HeldOutReadouts
from partwhole.measures.readouts.lda import LDA
from partwhole.measures.readouts.prediction import predict_readout
from partwhole.measures.readouts.result import Readout
from partwhole.measures.readouts.svm import SVM

__all__ = ["LDA", "SVM", "HeldOutReadouts", "Readout", "held_out_readouts", "predict_readout"]
