"""Where learning ends: features x cost x fit."""

from partwhole.limits.addition import AdditionLaw as AdditionLaw
from partwhole.limits.addition import addition_law as addition_law
from partwhole.limits.addition import effective_salience as effective_salience
from partwhole.limits.addition import memorization_leak as memorization_leak
from partwhole.limits.checking import check_cost as check_cost
from partwhole.limits.costs import ChainNorm as ChainNorm
from partwhole.limits.costs import Concave as Concave
from partwhole.limits.costs import Conjugate as Conjugate
from partwhole.limits.costs import ConjugateCost as ConjugateCost
from partwhole.limits.costs import Cost as Cost
from partwhole.limits.costs import DualTerm as DualTerm
from partwhole.limits.costs import FunctionSpaceL2 as FunctionSpaceL2
from partwhole.limits.costs import GroupNorm as GroupNorm
from partwhole.limits.costs import HyperbolicEntropy as HyperbolicEntropy
from partwhole.limits.costs import L1Norm as L1Norm
from partwhole.limits.costs import LinearProbing as LinearProbing
from partwhole.limits.costs import NuclearNorm as NuclearNorm
from partwhole.limits.costs import Quadratic as Quadratic
from partwhole.limits.costs import SchattenNorm as SchattenNorm
from partwhole.limits.diagonal import DiagonalWeights as DiagonalWeights
from partwhole.limits.fits import Equal as Equal
from partwhole.limits.fits import Margin as Margin
from partwhole.limits.fits import Tube as Tube
from partwhole.limits.limit import Limit as Limit
from partwhole.limits.limit import Outcome as Outcome
from partwhole.limits.many import Limits as Limits
from partwhole.limits.ordering import transitive_ranks as transitive_ranks
from partwhole.limits.penalties.finetuning import finetuning_penalty as finetuning_penalty
from partwhole.limits.penalties.finetuning import finetuning_price as finetuning_price
from partwhole.limits.penalties.hyperbolic import hyperbolic_entropy as hyperbolic_entropy
from partwhole.limits.penalties.hyperbolic import hyperbolic_price as hyperbolic_price
from partwhole.limits.penalties.multitask import multitask_penalty as multitask_penalty
from partwhole.limits.penalties.profile import PenaltyProfile as PenaltyProfile
from partwhole.limits.penalties.regimes import regime as regime
from partwhole.limits.penalties.relu import relu_penalty as relu_penalty
from partwhole.limits.penalties.rescaling import Rescaling as Rescaling
from partwhole.limits.penalties.rescaling import suggest_rescaling as suggest_rescaling
from partwhole.limits.penalties.transitions import ratio_at_order as ratio_at_order
from partwhole.limits.penalties.transitions import transition_width as transition_width
from partwhole.limits.proofs.ambiguity import Ambiguity as Ambiguity
from partwhole.limits.proofs.certificates import Certificate as Certificate
from partwhole.limits.proofs.certificates import rectangles as rectangles
from partwhole.limits.proofs.derivation import Derivation as Derivation
from partwhole.limits.proofs.determination import Determination as Determination
from partwhole.limits.proofs.determination import determination as determination
from partwhole.limits.proofs.solvability import Solvability as Solvability
from partwhole.limits.proofs.solvability import solvability as solvability
from partwhole.limits.shortcut import shortcut_boundary as shortcut_boundary
from partwhole.limits.shortcut import shortcut_margin as shortcut_margin
from partwhole.limits.solve import solve as solve
from partwhole.limits.toys import invariance_margin as invariance_margin
from partwhole.limits.toys import partial_exposure_margin as partial_exposure_margin

__all__ = [
    "AdditionLaw",
    "Ambiguity",
    "Certificate",
    "ChainNorm",
    "Concave",
    "Conjugate",
    "ConjugateCost",
    "Cost",
    "Derivation",
    "Determination",
    "DiagonalWeights",
    "DualTerm",
    "Equal",
    "FunctionSpaceL2",
    "GroupNorm",
    "HyperbolicEntropy",
    "L1Norm",
    "Limit",
    "Limits",
    "LinearProbing",
    "Margin",
    "NuclearNorm",
    "Outcome",
    "PenaltyProfile",
    "Quadratic",
    "Rescaling",
    "SchattenNorm",
    "Solvability",
    "Tube",
    "addition_law",
    "check_cost",
    "determination",
    "effective_salience",
    "finetuning_penalty",
    "finetuning_price",
    "hyperbolic_entropy",
    "hyperbolic_price",
    "invariance_margin",
    "memorization_leak",
    "multitask_penalty",
    "partial_exposure_margin",
    "ratio_at_order",
    "rectangles",
    "regime",
    "relu_penalty",
    "shortcut_boundary",
    "shortcut_margin",
    "solvability",
    "solve",
    "suggest_rescaling",
    "transition_width",
    "transitive_ranks",
]
