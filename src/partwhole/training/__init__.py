"""Training many small networks at once."""

from partwhole.training._learning_record import TrainingOutcome as TrainingOutcome
from partwhole.training.beside_theory import BesideTheory as BesideTheory
from partwhole.training.beside_theory import beside_theory as beside_theory
from partwhole.training.diagonal import train_diagonal as train_diagonal
from partwhole.training.diagonal import train_multitask as train_multitask
from partwhole.training.diagonal_runs import DiagonalRuns as DiagonalRuns
from partwhole.training.identity import train_identity as train_identity
from partwhole.training.protocol import Protocol as Protocol
from partwhole.training.relu import train_relu as train_relu
from partwhole.training.relu import train_relu_multitask as train_relu_multitask
from partwhole.training.relu_probing import ProbingRuns as ProbingRuns
from partwhole.training.relu_probing import relu_probing as relu_probing
from partwhole.training.relu_runs import ReLURuns as ReLURuns
from partwhole.training.rescaling import for_finetuning as for_finetuning
from partwhole.training.rescaling import rescale_after_pretraining as rescale_after_pretraining
from partwhole.training.runs import IdentityRuns as IdentityRuns
from partwhole.training.runs import RunOutcome as RunOutcome

__all__ = [
    "BesideTheory",
    "DiagonalRuns",
    "IdentityRuns",
    "ProbingRuns",
    "Protocol",
    "ReLURuns",
    "RunOutcome",
    "TrainingOutcome",
    "beside_theory",
    "for_finetuning",
    "relu_probing",
    "rescale_after_pretraining",
    "train_diagonal",
    "train_identity",
    "train_multitask",
    "train_relu",
    "train_relu_multitask",
]
