"""Where learning ends: features x cost x fit.

`many.Limits` are those of several learners or costs. `costs.L1Norm` and `costs.NuclearNorm` are
sparse costs, `costs.LinearProbing` that of a readout of given features, `costs.DeepEntropy` that of
deeper diagonal networks, `costs.ChainNorm` and `costs.SchattenNorm` are those of deeper gated
networks, and `costs.FunctionSpaceL2` is one for comparison; `checking.check_cost` tells whether a
cost of one's own is right. `proofs.determination` and `proofs.solvability` define their results.
"""

from partwhole.limits import checking as checking
from partwhole.limits import costs as costs
from partwhole.limits.addition import memorization_leak as memorization_leak
from partwhole.limits.costs import GroupNorm as GroupNorm
from partwhole.limits.costs import HyperbolicEntropy as HyperbolicEntropy
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
    "Limit",
    "Margin",
    "Outcome",
    "Quadratic",
    "Tube",
    "determination",
    "memorization_leak",
    "shortcut_margin",
    "solvability",
    "solve",
]
