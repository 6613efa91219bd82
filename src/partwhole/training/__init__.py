"""Training many small networks at once."""

from partwhole.training.beside_theory import BesideTheory as BesideTheory
from partwhole.training.beside_theory import beside_theory as beside_theory
from partwhole.training.diagonal import train_diagonal as train_diagonal
from partwhole.training.diagonal import train_multitask as train_multitask
from partwhole.training.diagonal_runs import DiagonalOutcome as DiagonalOutcome
from partwhole.training.diagonal_runs import DiagonalRuns as DiagonalRuns
from partwhole.training.identity import train_identity as train_identity
from partwhole.training.protocol import Protocol as Protocol
from partwhole.training.runs import IdentityRuns as IdentityRuns
from partwhole.training.runs import RunOutcome as RunOutcome

__all__ = [
    "BesideTheory",
    "DiagonalOutcome",
    "DiagonalRuns",
    "IdentityRuns",
    "Protocol",
    "RunOutcome",
    "beside_theory",
    "train_diagonal",
    "train_identity",
    "train_multitask",
]
