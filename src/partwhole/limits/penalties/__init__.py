"""Penalties on a coefficient, in finetuning and in multi-task learning."""

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
