"""How learning gets there: closed forms and flows for the path, its clocks and its extrema."""

from partwhole._extras import needs

needs("train", "partwhole.flows")

from partwhole.flows._follow import Ending as Ending
from partwhole.flows._path import Outcome as Outcome
from partwhole.flows._path import Path as Path
from partwhole.flows.assumptions import Assumption as Assumption
from partwhole.flows.assumptions import Assumptions as Assumptions
from partwhole.flows.assumptions import check_assumptions as check_assumptions
from partwhole.flows.cholesky_path import cholesky_path as cholesky_path
from partwhole.flows.cholesky_path import cholesky_valid as cholesky_valid
from partwhole.flows.clocks import LearningClocks as LearningClocks
from partwhole.flows.clocks import learning_clocks as learning_clocks
from partwhole.flows.deep_linear import deep_linear_descent as deep_linear_descent
from partwhole.flows.deep_linear import deep_linear_flow as deep_linear_flow
from partwhole.flows.deep_linear import deep_stability_limit as deep_stability_limit
from partwhole.flows.diagonal import diagonal_flow as diagonal_flow
from partwhole.flows.diagonal_path import DiagonalPath as DiagonalPath
from partwhole.flows.field import FieldParts as FieldParts
from partwhole.flows.field import field_parts as field_parts
from partwhole.flows.field import tied_field as tied_field
from partwhole.flows.forecast import Forecast as Forecast
from partwhole.flows.forecast import forecast as forecast
from partwhole.flows.gaussian_diffusion import gaussian_diffusion_loss as gaussian_diffusion_loss
from partwhole.flows.gaussian_diffusion import sampled_variance as sampled_variance
from partwhole.flows.last_stretch import TangentEnd as TangentEnd
from partwhole.flows.last_stretch import tangent_end as tangent_end
from partwhole.flows.multitask import multitask_flow as multitask_flow
from partwhole.flows.one_layer import one_layer_flow as one_layer_flow
from partwhole.flows.one_layer import relaxation_time as relaxation_time
from partwhole.flows.one_sided import one_sided_field as one_sided_field
from partwhole.flows.one_sided import one_sided_flow as one_sided_flow
from partwhole.flows.quadratic_loss import QuadraticLoss as QuadraticLoss
from partwhole.flows.stages import Phase as Phase
from partwhole.flows.stages import Stage as Stage
from partwhole.flows.stages import Stages as Stages
from partwhole.flows.stages import stages as stages
from partwhole.flows.swing_diagram import swing_diagram as swing_diagram
from partwhole.flows.tied import PositivityWarning as PositivityWarning
from partwhole.flows.tied import stability_limit as stability_limit
from partwhole.flows.tied import tied_descent as tied_descent
from partwhole.flows.tied import tied_flow as tied_flow
from partwhole.flows.two_concepts import MinorPeak as MinorPeak
from partwhole.flows.two_concepts import SwingForecast as SwingForecast
from partwhole.flows.two_concepts import SwingOutcome as SwingOutcome
from partwhole.flows.two_concepts import minor_peak as minor_peak
from partwhole.flows.two_concepts import swing_forecast as swing_forecast

__all__ = [
    "Assumption",
    "Assumptions",
    "DiagonalPath",
    "Ending",
    "FieldParts",
    "Forecast",
    "LearningClocks",
    "MinorPeak",
    "Outcome",
    "Path",
    "Phase",
    "PositivityWarning",
    "QuadraticLoss",
    "Stage",
    "Stages",
    "SwingForecast",
    "SwingOutcome",
    "TangentEnd",
    "check_assumptions",
    "cholesky_path",
    "cholesky_valid",
    "deep_linear_descent",
    "deep_linear_flow",
    "deep_stability_limit",
    "diagonal_flow",
    "field_parts",
    "forecast",
    "gaussian_diffusion_loss",
    "learning_clocks",
    "minor_peak",
    "multitask_flow",
    "one_layer_flow",
    "one_sided_field",
    "one_sided_flow",
    "relaxation_time",
    "sampled_variance",
    "stability_limit",
    "stages",
    "swing_diagram",
    "swing_forecast",
    "tangent_end",
    "tied_descent",
    "tied_field",
    "tied_flow",
]
