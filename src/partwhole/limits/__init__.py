"""Where learning ends: features x cost x fit.

`many.Limits` are those of several learners or costs. `costs.DeepEntropy` is the cost of deeper
diagonal networks, `costs.ChainNorm` and `costs.SchattenNorm` are those of deeper gated networks,
`costs.FunctionSpaceL2` is one for comparison, and `checking.check_cost` tells whether a cost of
one's own is right. `proofs.determination` and `proofs.solvability` define their results.
"""

from partwhole.limits.addition import memorization_leak as memorization_leak
from partwhole.limits.costs import GroupNorm as GroupNorm
from partwhole.limits.costs import HyperbolicEntropy as HyperbolicEntropy
from partwhole.limits.costs import L1Norm as L1Norm
from partwhole.limits.costs import LinearProbing as LinearProbing
from partwhole.limits.costs import NuclearNorm as NuclearNorm
from partwhole.limits.costs import Quadratic as Quadratic
from partwhole.limits.diagonal import DiagonalWeights as DiagonalWeights
from partwhole.limits.fits import Equal as Equal
from partwhole.limits.fits import Margin as Margin
from partwhole.limits.fits import Tube as Tube
from partwhole.limits.limit import Limit as Limit
from partwhole.limits.limit import Outcome as Outcome
from partwhole.limits.proofs.determination import determination as determination
from partwhole.limits.proofs.solvability import solvability as solvability
from partwhole.limits.shortcut import shortcut_margin as shortcut_margin
from partwhole.limits.solve import solve as solve

__all__ = [
    "DiagonalWeights",
    "Equal",
    "GroupNorm",
    "HyperbolicEntropy",
    "L1Norm",
    "Limit",
    "LinearProbing",
    "Margin",
    "NuclearNorm",
    "Outcome",
    "Quadratic",
    "Tube",
    "determination",
    "memorization_leak",
    "shortcut_margin",
    "solvability",
    "solve",
]
