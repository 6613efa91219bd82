"""Training many small networks at once."""

from partwhole.training.beside_theory import BesideTheory as BesideTheory
from partwhole.training.beside_theory import beside_theory as beside_theory
from partwhole.training.identity import train_identity as train_identity
from partwhole.training.protocol import Protocol as Protocol
from partwhole.training.runs import IdentityRuns as IdentityRuns
from partwhole.training.runs import RunOutcome as RunOutcome

__all__ = [
    "BesideTheory",
    "IdentityRuns",
    "Protocol",
    "RunOutcome",
    "beside_theory",
    "train_identity",
]
