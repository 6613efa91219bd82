"""The evidence: studies of published claims, a folder for each body of work."""

from pathlib import Path

HERE = Path(__file__).parent
PAPERS = HERE / "papers"
# The order in which a report shows them. A study that is not named here comes last.
ORDER = {
    "overlap": (
        "solvable_tasks",
        "leak_slope",
        "item_values",
        "dispersed",
        "leak_networks",
        "salience_depth",
        "phase_diagrams",
        "conjunction_sizes",
        "exposure",
        "transitive_equivalence",
        "transitive_ordering",
        "composite_digits",
    ),
    "dense": (
        "leak_dense",
        "shortcut_dense",
        "equivalence_dense",
    ),
    "images": (
        "leak_images",
        "shortcut_images",
        "equivalence_images",
    ),
    "dynamics": (
        "learning_order",
        "two_layers",
        "central",
        "learning_times",
        "swing_table",
        "multiple_descent",
        "failure",
        "dimension",
        "low_dimension",
        "swing_fractions",
        "cube_order",
    ),
    "diffusion": (
        "concept_strength",
        "vector_diffusion",
        "concept_diffusion",
        "concept_times",
        "hidden_capability",
        "combination_distance",
        "rare_concept",
        "withheld_concept",
    ),
    "gated": (
        "schematic",
        "margins",
        "contexts",
        "two_layers",
        "relu_networks",
    ),
    "recordings": ("calibration",),
    "reuse": (
        "penalties",
        "multitask_bias",
        "shared_features",
        "which_method",
        "stopping",
        "rescaling",
        "relu_features",
        "correlated_features",
        "class_finetuning",
    ),
}


def _studies() -> tuple[str, ...]:
    """Return the full names of all modules with a declaration beside them."""
    declared = [(path.parent.name, path.stem) for path in sorted(HERE.glob("*/*.toml"))]
    declared = [study for study in declared if study[0] != PAPERS.name]
    ordered = [(folder, name) for folder, names in ORDER.items() for name in names]
    studies = [study for study in ordered if study in declared] + declared
    return tuple(dict.fromkeys(f"{__name__}.{folder}.{name}" for folder, name in studies))


STUDIES = _studies()
