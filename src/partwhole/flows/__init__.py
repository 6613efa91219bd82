"""How learning gets there: closed forms and flows for the path, its clocks and its extrema."""

from partwhole.flows._path import Outcome as Outcome
from partwhole.flows._path import Path as Path
from partwhole.flows.clocks import LearningClocks as LearningClocks
from partwhole.flows.clocks import learning_clocks as learning_clocks
from partwhole.flows.field import FieldParts as FieldParts
from partwhole.flows.field import field_parts as field_parts
from partwhole.flows.field import tied_field as tied_field
from partwhole.flows.tied import PositivityWarning as PositivityWarning
from partwhole.flows.tied import stability_limit as stability_limit
from partwhole.flows.tied import tied_descent as tied_descent
from partwhole.flows.tied import tied_flow as tied_flow
