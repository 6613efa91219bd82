"""ReLU networks that learn a main task by the published methods, from large or small weights."""

from __future__ import annotations

from functools import lru_cache
from math import ceil

import numpy as np

from partwhole._types import Real
from partwhole.networks import MLP, Architecture
from partwhole.recommendation.methods import FINETUNING, MULTI, PROBING, SINGLE
from partwhole.study import Arrays, Cells, Config
from partwhole.tasks.relu_teachers import ReLUTeachers, ReLUTeacherSample
from partwhole.training import Runs, Training, train
from partwhole.training.relu_probing import Features, ProbingRuns, relu_probing
from partwhole.training.rescaling import for_finetuning

DIMENSION, AUX_UNITS, N_AUX, N_TEST, BATCH = 15, 6, 1024, 2000, 128
INIT = READOUT = 1e-3
# Regression on initial weights costs little: its networks have the published width in all presets.
KERNEL_UNITS = 1000
# Regression on hidden units or on slopes in all weights, after pretraining or from first weights.
TANGENT, RANDOM, KERNEL = "tangent probing", "single-task probing", "single-task kernel"
REGRESSIONS: dict[str, tuple[Features, bool]] = {
    PROBING: ("hidden", True),
    TANGENT: ("tangent", True),
    RANDOM: ("hidden", False),
    KERNEL: ("tangent", False),
}
# Of one unit's output on the sphere, and so of any teacher's of unit size, on average over signs.
VARIANCE = 0.3355

# What the work costs; a cell's configuration holds one of these. Rates are of steps in single-task
# learning and finetuning, in multi-task learning, and in pretraining.
SMALL: Config = {
    "hidden": 100,
    "rate": 0.3,
    "rate_together": 0.3,
    "epochs": 2_000,
    "epochs_together": 250,
    "threshold": 3e-6,
    "pretrain_rate": 0.3,
    "pretrain_steps": 3_000,
    "pretrain_batch": BATCH,
    "records": 10,
}
MEDIUM: Config = SMALL | {
    "hidden": 1000,
    "records": 50,
    "epochs": 5_000,
    "epochs_together": 600,
    "threshold": 1e-6,
    "pretrain_steps": 6_000,
}
FULL: Config = {
    "hidden": 1000,
    "rate": 1.0,
    "rate_together": 1.0,
    "epochs": 100_000,
    "epochs_together": 100_000,
    "threshold": 1e-8,
    "pretrain_rate": 0.1,
    "pretrain_steps": 100_000,
    "pretrain_batch": 0,  # all samples in each step
    "records": 200,
}


def tuned(c: Real) -> str:
    """Return the name of finetuning with a rescaling."""
    return f"{FINETUNING}, c = {c:g}"


def by_run(cells: Cells) -> Cells:
    """Return the errors of each method and seed as a cell of its own."""
    return [
        (
            config | {"way": way, "seed": seed},
            {name: errors[i, j, ...] for name, errors in arrays.items()},
        )
        for config, arrays in cells
        for i, way in enumerate(config["ways"])
        for j, seed in enumerate(config["seeds"])
    ]


def task(config: Config) -> ReLUTeachers:
    """Return the teachers of a cell, whose main readouts are magnitude / sqrt(units)."""
    return ReLUTeachers(
        DIMENSION, AUX_UNITS, tuple(config["correlations"]), magnitude=config["magnitude"]
    )


def learned(config: Config) -> Arrays:
    """Return test errors and training losses over the variance of the targets of a cell's networks.

    Arrays have the shape (ways, seeds): "final" is the test error at the end, of regression that at
    the penalty chosen by samples left out; "left" is the training loss of the main task, NaN for
    regression. Where there is regression, "least" is its least test error over penalties, as
    published, NaN for the others.

    Networks are trained in double precision: long training amplifies rounding some 1e5 times, so
    that in single precision an error would depend on the processor, by up to a factor of 3.
    """
    teachers, seeds = task(config), config["seeds"]
    samples = [teachers.sample(seed, config["n"], N_AUX, N_TEST) for seed in seeds]
    errors = np.array([_learn(config, way, samples) for way in config["ways"]])
    errors /= VARIANCE * float(config["magnitude"]) ** 2
    arrays = {"final": errors[:, 0], "left": errors[:, 1]}
    if REGRESSIONS.keys() & set(config["ways"]):
        arrays["least"] = errors[:, 2]
    return arrays


def start(hidden: int, seeds: tuple[int, ...], outputs: int = 1) -> MLP:
    """Return the published first weights, of sizes .001 sqrt(2 / inputs of a layer)."""
    architecture = Architecture(2, hidden, "relu", bias=False, initial="he", scale=INIT)
    return architecture.networks(DIMENSION, seeds=seeds, outputs=outputs)


def stacked(samples: list[ReLUTeacherSample], name: str) -> np.ndarray:
    """Return one array of all runs."""
    return np.stack([getattr(sample, name) for sample in samples])


def _pretrained(config: Config) -> MLP:
    """Return networks trained on the auxiliary task."""
    names = ("hidden", "pretrain_rate", "pretrain_steps", "pretrain_batch", "threshold")
    settings = [config[name] for name in names]
    return _pretrain(tuple(config["seeds"]), config.get("aux_magnitude", 1.0), *settings)


# All main tasks of a seed have the same auxiliary task: what was pretrained serves them all.
@lru_cache(maxsize=8)
def _pretrain(
    seeds: tuple[int, ...],
    magnitude: Real,
    hidden: int,
    rate: Real,
    steps: int,
    batch: int,
    threshold: Real,
) -> MLP:
    samples = [ReLUTeachers(DIMENSION, AUX_UNITS).sample(seed, 0, N_AUX) for seed in seeds]
    training = Training(
        steps=steps,
        learning_rate=rate,
        threshold=threshold,
        batch=batch or None,
        seed=seeds,
        restarts=3,
        precision="float64",
    )
    data = stacked(samples, "aux_inputs"), magnitude * stacked(samples, "aux_targets")
    runs = train(start(hidden, seeds), data, training, progress=False)
    return runs.networks


def _learn(
    config: Config, way: str, samples: list[ReLUTeacherSample]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return "final", "left" and "least" of a method, a number for each seed."""
    seeds = tuple(config["seeds"])
    without = np.full(len(seeds), np.nan)
    if way in REGRESSIONS:
        regression = _regress(config, way, samples)
        return regression.chosen_loss, without, regression.best_loss
    if way == MULTI:
        runs = _together(config, samples)
        return runs.final_loss[:, 1], runs.task_loss[:, 1, -1], without
    n, rate = config["n"], float(config["rate"])
    if way == SINGLE:
        rate = float(config.get("rate_single", rate))
        first = start(config["hidden"], seeds)
    else:
        c = float(way.rpartition(" ")[2])
        first = for_finetuning(_pretrained(config), rescale=c, readout_scale=READOUT, seeds=seeds)
        # Features c times as large make the loss c^2 times as steep.
        rate /= max(1.0, c**2)
    batched = n > BATCH
    epochs = config["epochs"]
    if way == SINGLE:
        epochs = config.get("epochs_single", epochs)
    steps = epochs * ceil(n / BATCH)
    training = Training(
        steps=steps,
        learning_rate=rate,
        threshold=_threshold(config),
        batch=BATCH if batched else None,
        seed=seeds,
        record=_recorded(steps, config["records"]),
        restarts=3,
        precision="float64",
    )
    runs = train(
        first,
        (stacked(samples, "inputs"), stacked(samples, "targets")),
        training,
        teachers=[sample.main for sample in samples],
        progress=False,
    )
    return runs.final_loss, runs.training_loss[:, -1], without


def _together(config: Config, samples: list[ReLUTeacherSample]) -> Runs:
    """Train on both tasks."""
    seeds = tuple(config["seeds"])
    aux = float(config.get("aux_magnitude", 1.0))
    steps = config["epochs_together"] * ceil((N_AUX + config["n"]) / BATCH)
    training = Training(
        steps=steps,
        learning_rate=config["rate_together"],
        threshold=_threshold(config),
        batch=BATCH,
        seed=seeds,
        record=_recorded(steps, config["records"]),
        restarts=3,
        precision="float64",
    )
    return train(
        start(config["hidden"], seeds, outputs=2),
        [
            (stacked(samples, "aux_inputs"), aux * stacked(samples, "aux_targets")),
            (stacked(samples, "inputs"), stacked(samples, "targets")),
        ],
        training,
        teachers=[[sample.auxiliary for sample in samples], [sample.main for sample in samples]],
        progress=False,
    )


def _recorded(steps: int, count: int) -> list[int]:
    """Return steps to record; the test error of wide networks takes longer than many steps."""
    return np.unique(np.geomspace(1, steps, count).round().astype(int)).tolist()


def _threshold(config: Config) -> float:
    """Return the loss that ends training, relative to the size of the main task."""
    return float(config["threshold"]) * min(1.0, float(config["magnitude"]) ** 2)


def _regress(config: Config, way: str, samples: list[ReLUTeacherSample]) -> ProbingRuns:
    """Regress on hidden units or on tangent features, with an intercept as published."""
    seeds = tuple(config["seeds"])
    features, pretrained = REGRESSIONS[way]
    if pretrained:
        first = for_finetuning(_pretrained(config), readout_scale=READOUT, seeds=seeds)
    else:
        first = start(KERNEL_UNITS, seeds)
    return relu_probing(
        first,
        stacked(samples, "inputs"),
        stacked(samples, "targets"),
        features=features,
        intercept=True,
        test=(stacked(samples, "test_inputs"), stacked(samples, "test_targets")),
    )
