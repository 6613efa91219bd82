"""What learners prefer."""

from partwhole.limits.costs._cost import Cost as Cost
from partwhole.limits.costs._cost import DualTerm as DualTerm
from partwhole.limits.costs.quadratic import Quadratic as Quadratic
