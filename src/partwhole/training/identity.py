"""Training of many small networks at once on structured identity tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require, seed_list, whole
from partwhole._door import door
from partwhole._progress import bar
from partwhole.flows.stability import deep_stability_limit
from partwhole.networks import MLP, Architecture
from partwhole.tasks import StructuredIdentity
from partwhole.tasks.identity_sample import IdentitySample
from partwhole.training._engines import at_once, choose, cost
from partwhole.training._recorded import Recorded
from partwhole.training.outcome import Outcome
from partwhole.training.protocol import Protocol, Record, batch_order
from partwhole.training.runs import IdentityRuns

MEMORY_GIB = 8.0
DIVERGED = 2.0  # times the initial training loss; smaller rises may be due to single batches


@door
def train_identity(
    tasks: StructuredIdentity | Sequence[StructuredIdentity],
    architecture: Architecture,
    protocol: Protocol | Sequence[Protocol] | None = None,
    *,
    seeds: Sequence[int] | Int[np.ndarray, " n"],
    record: Record = "geometric",
    probes: Literal["combinations"] | Float[np.ndarray, "k d"] | None = None,
    data_seed: int | None = None,
    progress: bool = True,
) -> IdentityRuns:
    r"""Train a network for each setting and seed by stochastic gradient descent.

    Networks of all settings and seeds are trained side by side, and compiled once. Linear
    networks are trained on the second moments of their batches, which gives the same steps
    as the samples; the result of a seed does not depend, up to rounding, on the other seeds.

    Parameters
    ----------
    tasks : StructuredIdentity or sequence of them
        The settings; several agree in dimension, number of concepts and number of samples.
    architecture : Architecture
    protocol : Protocol or sequence of them, default None
        One for all settings, or one for each, which differ in no more than learning rate, loss
        and shuffling; None for `Protocol()`, that of the published runs at d = 64.
    seeds : sequence of int, keyword-only
        Each fixes a sample, its order and initial weights, the same in every setting.
    record : {"geometric", "epochs"} or sequence of int, keyword-only, default "geometric"
        The steps to record, as in `Protocol.recorded`. Training ends with the last of them. The
        published figures show epochs, which miss most of a swing in low dimension.
    probes : "combinations" or float array, shape (k, d), keyword-only, default None
        Where networks are read, in the concept frame; None for each task's probe, "combinations"
        for all combinations of its concepts.
    data_seed : int, keyword-only, default None
        Fixes the sample in place of the seeds, which still fix its order and the weights.
    progress : bool, keyword-only, default True
        Whether to show a bar on the error stream once this takes over two seconds.

    Returns
    -------
    IdentityRuns

    Raises
    ------
    InputError
        For settings that don't fit together, steps that don't exist, probes of another
        dimension, results beyond 8 GiB, and a learning rate at which no linear network that has
        learned its sample is stable.

    Notes
    -----
    Yang et al. (ICLR 2025), section 5 and appendix E. The limit on the learning rate is
    `deep_stability_limit` of the sample; it is necessary, not sufficient, and a run that diverges
    below it, or one of a network that is not linear, is reported in `outcomes`.

    Examples
    --------
    >>> task = StructuredIdentity([2, 4], [0.05, 0.05], origin=True, scales_are="variances")
    >>> runs = train_identity(
    ...     task, Architecture(layers=4, width=4), Protocol(0.01, epochs=20), seeds=range(3)
    ... )
    >>> runs.outputs.shape[:2], runs.losses[0, :, -1, 0].round(2)
    ((1, 3), array([0., 0., 0.]))
    """
    settings = (tasks,) if isinstance(tasks, StructuredIdentity) else tuple(tasks)
    require(len(settings) > 0, "there is at least one task", "none", "pass one")
    protocols = _protocols(protocol, settings)
    task, first = settings[0], protocols[0]
    rule = "seeds are different whole numbers of at least 0"
    chosen = seed_list(seeds, rule)
    require(
        len({*chosen}) == len(chosen),
        rule,
        f"{chosen if len(chosen) < 9 else f'some of {len(chosen)} twice'}",
        "name each once",
    )
    if data_seed is not None:
        whole("data_seed", data_seed, 0, "leave it None for a sample of each seed")
    d, n, runs = task.n_dimensions, task.n_samples, len(settings) * len(chosen)
    recorded_steps = first.recorded(record, n)
    points = _probes(probes, settings)
    samples = _Samples(settings, architecture, protocols, chosen, data_seed)
    every_epoch = first.epochs if first.shuffle == "every epoch" else 1
    run_cost = cost(architecture, d, every_epoch * first.batches(n), first.batch)
    recorded = 8.0 * len(recorded_steps) * points.shape[1] * (2 * d + 1)
    _require_memory(runs * recorded + run_cost.bytes)

    keys = [(s, seed) for s in range(len(settings)) for seed in chosen]
    moments = [samples.moments(*key) for key in keys]
    initial = architecture.networks(d, seeds=chosen)
    size = at_once(runs, run_cost, recorded, max(1, int(recorded_steps[-1])))
    with bar(f"training {runs} networks", runs, shown=progress) as advance:
        parts = []
        for start in range(0, runs, size):
            part = _train(
                samples, keys[start : start + size], size, initial, points, recorded_steps
            )
            parts.append(part)
            advance(len(part.outputs))
    outputs = np.concatenate([part.outputs for part in parts])
    losses = np.concatenate([part.training_loss for part in parts])
    final = jax.tree.map(lambda *w: np.concatenate(w), *[part.final for part in parts])
    numbers = [outputs, losses, *jax.tree.leaves(final)]
    outcomes = []
    for run in range(runs):
        finite = all(np.isfinite(values[run]).all() for values in numbers)
        is_bounded = finite and losses[run, -1] <= DIVERGED * losses[run, 0]
        outcomes.append(Outcome.RAN_ALL_STEPS if is_bounded else Outcome.DIVERGED)
    shape, n_seeds = (len(settings), len(chosen)), len(chosen)
    return IdentityRuns(
        settings,
        architecture,
        protocols,
        chosen,
        recorded_steps,
        np.array(
            [
                [run_protocol.time(int(step), d) for step in recorded_steps]
                for run_protocol in protocols
            ]
        ),
        points,
        outputs.reshape(*shape, *outputs.shape[1:]),
        losses.reshape(*shape, -1),
        initial,
        jax.tree.map(lambda w: jnp.asarray(w.reshape(*shape, *w.shape[1:])), final),
        np.stack([second for second, _ in moments]).reshape(*shape, d, d),
        np.stack([mean for _, mean in moments]).reshape(*shape, d),
        tuple(tuple(outcomes[start : start + n_seeds]) for start in range(0, runs, n_seeds)),
    )


def _train(
    samples: _Samples,
    keys: list[tuple[int, int]],
    size: int,
    initial: MLP,
    points: Float[np.ndarray, "settings k d"],
    recorded_steps: Int[np.ndarray, " T"],
) -> Recorded:
    """Train some of the runs in one call; outputs are in the concept frame."""
    settings, seeds = samples.settings, samples.seeds
    engine = choose(samples.architecture, settings[0].n_dimensions)
    # The last call is filled up, because another size would be recompiled.
    filled = keys + keys[-1:] * (size - len(keys))
    data = [engine.data(samples.draw(*key).inputs, *samples.order(*key)) for key in keys]
    data += data[-1:] * (size - len(keys))
    places = np.array([seeds.index(seed) for _, seed in filled])
    records = engine.train(
        jax.tree.map(lambda w: np.asarray(w)[places], initial),
        tuple(np.stack(part) for part in zip(*data, strict=True)),
        np.array([samples.protocols[s].rate(settings[s].n_dimensions) for s, _ in filled]),
        np.diff(recorded_steps, prepend=0),
        np.stack([settings[s].to_inputs(points[s]) for s, _ in filled]),
    )
    outputs = [
        settings[s].to_concepts(run_outputs)
        for (s, _), run_outputs in zip(keys, records.outputs, strict=False)
    ]
    final = jax.tree.map(lambda w: np.asarray(w)[: len(keys)], records.final)
    return Recorded(np.stack(outputs), records.training_loss[: len(keys)], final)


class _Samples:
    """Samples and their orders, drawn for each run from its own seed."""

    def __init__(
        self,
        settings: tuple[StructuredIdentity, ...],
        architecture: Architecture,
        protocols: tuple[Protocol, ...],
        seeds: tuple[int, ...],
        data_seed: int | None,
    ) -> None:
        self.settings, self.architecture, self.protocols = settings, architecture, protocols
        self.seeds, self.data_seed = seeds, data_seed
        self._held: dict[tuple[int, int], IdentitySample] = {}
        self._moments: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]] = {}

    def draw(self, setting: int, seed: int) -> IdentitySample:
        """Return the sample of a run; only the latest is held."""
        key = (setting, seed if self.data_seed is None else self.data_seed)
        if key not in self._held:
            self._held = {key: self.settings[setting].sample(key[1])}
        return self._held[key]

    def order(self, setting: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the batches of a run."""
        return batch_order(self.protocols[setting], self.settings[setting].n_samples, seed)

    def moments(self, setting: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return second moment and mean of a run's sample, after a check of the learning rate."""
        key = (setting, seed if self.data_seed is None else self.data_seed)
        if key not in self._moments:
            sample = self.draw(setting, seed)
            moments = sample.second_moment(), sample.mean()
            _require_stability(self.architecture, self.protocols[setting], *moments)
            self._moments[key] = moments
        return self._moments[key]


def _require_stability(
    architecture: Architecture, protocol: Protocol, second_moment: np.ndarray, mean: np.ndarray
) -> None:
    if architecture.nonlinearity != "linear":
        return
    d, layers = len(mean), architecture.layers
    limit = deep_stability_limit(second_moment, layers, mean=mean if architecture.bias else None)
    highest = limit / protocol.rate(d) * protocol.learning_rate
    require(
        protocol.learning_rate < highest,
        f"the learning rate of {layers} linear layer(s) on this sample lies below the stability "
        f"limit {highest:.4g}",
        f"{protocol.learning_rate:g}",
        "take a smaller one",
    )


def _protocols(
    requested: Protocol | Sequence[Protocol] | None, settings: tuple[StructuredIdentity, ...]
) -> tuple[Protocol, ...]:
    """Check that settings can be trained side by side; return a protocol for each."""
    shapes = sorted({(t.n_dimensions, t.n_concepts, t.n_samples) for t in settings})
    require(
        len(shapes) == 1,
        "tasks trained side by side agree in dimension, number of concepts and number of samples",
        " and ".join(f"{d}, {s} and {n}" for d, s, n in shapes),
        "train the others in a call of their own",
    )
    if requested is None or isinstance(requested, Protocol):
        return (requested or Protocol(),) * len(settings)
    protocols = tuple(requested)
    require(
        len(protocols) == len(settings),
        "there is one protocol for all tasks, or one for each",
        f"{len(protocols)} for {len(settings)} tasks",
        "pass as many as tasks",
    )
    forms = {
        (protocol.epochs, protocol.batch, protocol.shuffle, protocol.last_batch)
        for protocol in protocols
    }
    require(
        len(forms) == 1,
        "protocols of one call agree in epochs, batches and shuffling",
        f"{len(forms)} kinds",
        "train the others in a call of their own",
    )
    return protocols


def _probes(
    probes: Literal["combinations"] | Float[np.ndarray, "k d"] | None,
    settings: tuple[StructuredIdentity, ...],
) -> Float[np.ndarray, "settings k d"]:
    if probes is None:
        return np.stack([task.probe[None] for task in settings])
    if isinstance(probes, str):
        return np.stack([task.combinations().points for task in settings])
    d = settings[0].n_dimensions
    require(
        probes.shape[1] == d,
        f"probes are points in the tasks' {d} dimensions, one in each row",
        f"shape {probes.shape}",
        "leave them out for the tasks' own",
    )
    return np.broadcast_to(probes, (len(settings), *probes.shape)).copy()


def _require_memory(needed: float) -> None:
    gibibytes = needed / 2**30
    require(
        gibibytes <= MEMORY_GIB,
        f"what is recorded may take {MEMORY_GIB:g} GiB",
        f"about {gibibytes:.0f}",
        "record fewer steps or probes, or train fewer seeds in a call",
    )
