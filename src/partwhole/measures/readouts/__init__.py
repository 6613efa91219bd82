"""What a linear readout of noisy trials will answer, predicted without training it."""

from partwhole.measures.readouts.held_out import HeldOutReadouts, held_out_readouts
from partwhole.measures.readouts.prediction import Readout, predict_readout

__all__ = ["HeldOutReadouts", "Readout", "held_out_readouts", "predict_readout"]
