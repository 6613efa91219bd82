"""How learning gets there: systems, the path that `flow` or `descend` follows, and its clocks.

`assumptions.check_assumptions` tells which assumptions of the forecast hold, and
`quadratic_loss.QuadraticLoss` is a task for `Diagonal`, of the population or of a sample.
`stages.stages` tells the published stages of a path, `swing_diagram.swing_diagram` where answers
swing, and `stability.stability_limit` how large a step may be.
"""

from partwhole._extras import needs

needs("train", "partwhole.flows")

from partwhole.flows import assumptions as assumptions
from partwhole.flows import stability as stability
from partwhole.flows import stages as stages
from partwhole.flows import swing_diagram as swing_diagram
from partwhole.flows._path import FlowOutcome as FlowOutcome
from partwhole.flows._path import Path as Path
from partwhole.flows.clocks import learning_clocks as learning_clocks
from partwhole.flows.deep import Deep as Deep
from partwhole.flows.descend import descend as descend
from partwhole.flows.diagonal import Diagonal as Diagonal
from partwhole.flows.flow import flow as flow
from partwhole.flows.forecast import forecast as forecast
from partwhole.flows.one_layer import OneLayer as OneLayer
from partwhole.flows.tied import Tied as Tied

__all__ = [
    "Deep",
    "Diagonal",
    "FlowOutcome",
    "OneLayer",
    "Path",
    "Tied",
    "descend",
    "flow",
    "forecast",
    "learning_clocks",
]
