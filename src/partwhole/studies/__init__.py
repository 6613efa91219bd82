"""Theory beside experiment, a module for a figure.

A study is a module with a question, a source, a revision, presets and a budget, and four functions:
`cell` does one independent piece of work on plain data, `gather` builds one dataset from all of
them, `claims` weighs what is claimed against what was found, and `figure` draws it.
"""

from partwhole.studies._claim import Claim as Claim
from partwhole.studies._claim import Verdict as Verdict
from partwhole.studies._claim import tally as tally
from partwhole.studies._figure import COLOURS as COLOURS
from partwhole.studies._figure import STYLE as STYLE
from partwhole.studies._figure import draw as draw
from partwhole.studies._figure import render as render
from partwhole.studies._figure import save_figure as save_figure
from partwhole.studies._study import Arrays as Arrays
from partwhole.studies._study import Cells as Cells
from partwhole.studies._study import Config as Config
from partwhole.studies._study import Result as Result
from partwhole.studies._study import Study as Study
from partwhole.studies._study import configuration_hash as configuration_hash
from partwhole.studies._study import configurations as configurations
from partwhole.studies._study import find as find
from partwhole.studies._study import full_name as full_name
from partwhole.studies._study import registered as registered
from partwhole.studies._study import run as run
from partwhole.studies._study import short_name as short_name
from partwhole.studies._study import spawned as spawned
from partwhole.studies.report import QUICK_LIMIT as QUICK_LIMIT
from partwhole.studies.report import Report as Report
from partwhole.studies.report import write_report as write_report

# The report shows them in this order.
STUDIES: tuple[str, ...] = (
    "partwhole.studies.overlap.solvable_tasks",
    "partwhole.studies.overlap.leak_slope",
    "partwhole.studies.overlap.item_values",
    "partwhole.studies.overlap.dispersed",
    "partwhole.studies.overlap.leak_networks",
    "partwhole.studies.overlap.salience_depth",
    "partwhole.studies.overlap.phase_diagrams",
    "partwhole.studies.overlap.conjunction_sizes",
    "partwhole.studies.overlap.exposure",
    "partwhole.studies.overlap.transitive_equivalence",
    "partwhole.studies.overlap.transitive_ordering",
    "partwhole.studies.overlap.composite_digits",
    "partwhole.studies.dense.leak_dense",
    "partwhole.studies.dense.shortcut_dense",
    "partwhole.studies.dense.equivalence_dense",
    "partwhole.studies.images.leak_images",
    "partwhole.studies.images.shortcut_images",
    "partwhole.studies.images.equivalence_images",
    "partwhole.studies.dynamics.learning_order",
    "partwhole.studies.dynamics.two_layers",
    "partwhole.studies.dynamics.central",
    "partwhole.studies.dynamics.learning_times",
    "partwhole.studies.dynamics.swing_table",
    "partwhole.studies.dynamics.multiple_descent",
    "partwhole.studies.dynamics.failure",
    "partwhole.studies.dynamics.dimension",
    "partwhole.studies.dynamics.low_dimension",
    "partwhole.studies.dynamics.swing_fractions",
    "partwhole.studies.dynamics.cube_order",
    "partwhole.studies.diffusion.concept_strength",
    "partwhole.studies.diffusion.vector_diffusion",
    "partwhole.studies.diffusion.concept_diffusion",
    "partwhole.studies.diffusion.concept_times",
    "partwhole.studies.diffusion.hidden_capability",
    "partwhole.studies.diffusion.combination_distance",
    "partwhole.studies.diffusion.rare_concept",
    "partwhole.studies.diffusion.untold_concept",
    "partwhole.studies.gated.schematic",
    "partwhole.studies.gated.margins",
    "partwhole.studies.gated.contexts",
    "partwhole.studies.gated.two_layers",
    "partwhole.studies.gated.relu_networks",
    "partwhole.studies.reuse.penalties",
    "partwhole.studies.reuse.multitask_bias",
    "partwhole.studies.reuse.shared_features",
    "partwhole.studies.reuse.which_method",
    "partwhole.studies.reuse.stopping",
    "partwhole.studies.reuse.rescaling",
    "partwhole.studies.reuse.relu_features",
    "partwhole.studies.reuse.correlated_features",
    # A slow machine leaves out of the quick page what comes last.
    "partwhole.studies.reuse.class_finetuning",
)
