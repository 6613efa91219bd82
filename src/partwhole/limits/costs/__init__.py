"""Costs: a learner's preference among the functions that fit its training set."""

from partwhole.limits.costs._cost import Concave as Concave
from partwhole.limits.costs._cost import Cost as Cost
from partwhole.limits.costs._cost import DualTerm as DualTerm
from partwhole.limits.costs._cost import Squares as Squares
from partwhole.limits.costs.chain_norm import ChainNorm as ChainNorm
from partwhole.limits.costs.conjugate_cost import Conjugate as Conjugate
from partwhole.limits.costs.conjugate_cost import ConjugateCost as ConjugateCost
from partwhole.limits.costs.deep_entropy import DeepEntropy as DeepEntropy
from partwhole.limits.costs.function_space import FunctionSpaceL2 as FunctionSpaceL2
from partwhole.limits.costs.group_norm import GroupNorm as GroupNorm
from partwhole.limits.costs.hyperbolic_entropy import HyperbolicEntropy as HyperbolicEntropy
from partwhole.limits.costs.l1_norm import L1Norm as L1Norm
from partwhole.limits.costs.linear_probing import LinearProbing as LinearProbing
from partwhole.limits.costs.nuclear_norm import NuclearNorm as NuclearNorm
from partwhole.limits.costs.quadratic import Quadratic as Quadratic
from partwhole.limits.costs.schatten_norm import SchattenNorm as SchattenNorm
