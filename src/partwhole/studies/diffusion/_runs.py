"""What the studies of concept-space diffusion share: a cell trains one model and reads it.

Two concepts, colour and size, make four classes; one is never shown. Images are of circles; of the
vector model they are points, the first coordinate as far from 0 as colours are apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from partwhole.measures import decode_shapes
from partwhole.networks.diffusion import diffusion_model
from partwhole.studies import Arrays, Config
from partwhole.tasks import circles, leave_out
from partwhole.training import DiffusionRecipe, Prompt, train_diffusion

CLASSES = ("red big", "red small", "blue big", "blue small")
UNSEEN = CLASSES[3]
CORNERS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
SIDES = {"small16": 16, "small32": 32, "paper": 32}
KEPT = 6  # samples of the unseen class that are kept as pictures
POINT, PROMPT = 113, 114_000  # keep the streams of points and prompts apart from those of images
JITTER = 0.15  # of points, as a share of what concepts are apart, as jittered circles have it

Rows = Float[np.ndarray, "n d"]


class Setting(NamedTuple):
    """Hold what a model is trained on, how it is asked, and how its samples are read."""

    samples: Float[np.ndarray, "n *shape"]
    conditions: Rows
    seen: dict[str, Rows]  # what is asked for of each class that is shown
    unseen: Rows  # of the one that is not
    over: Callable[[float], Rows]  # the same with the first concept overstated by an amount
    read: Callable[[np.ndarray], Float[np.ndarray, "n 2"]]


def images(config: Config) -> Setting:
    """Return circles: asked for as they vary where they were seen, as published, else at means."""
    space = circles(config["colour"], config["size"])
    n, seed = config["samples"], config["seed"]
    shown = space.sample(
        config["per_class"], is_train=leave_out(space, [UNSEEN]), side=SIDES[config["model"]],
        seed=seed,
    )  # fmt: skip
    drawn, classes = space.draw(n, seed=seed + PROMPT)
    asked = space.conditions(drawn).astype(np.float32)
    mean = space.mean_attributes()
    ends = {"colour": (mean.colour[0], mean.colour[2]), "size": (mean.size[0], mean.size[1])}

    def over(amount: float) -> Rows:
        return space.over_prompts(UNSEEN, [amount]).repeat(n, axis=0).astype(np.float32)

    return Setting(
        shown.images,
        space.conditions(shown.attributes).astype(np.float32),
        {name: asked[classes == k] for k, name in enumerate(CLASSES[:3])},
        space.class_conditions([3]).repeat(n, axis=0).astype(np.float32),
        over,
        lambda found: decode_shapes(found).coordinates(ends, unsure=0.5),
    )


def points(config: Config) -> Setting:
    """Return points at the corners of a rectangle, whose sides are how far concepts are apart."""
    apart = np.array([config["colour"], config["size"]]) * 2.0
    rng = np.random.default_rng([config["seed"], POINT])
    n = config["samples"]

    def drawn(corner: np.ndarray, count: int) -> np.ndarray:
        jitter = JITTER * rng.uniform(-1.0, 1.0, (count, 2))
        return ((corner + jitter) * apart).astype(np.float32)

    shown = np.concatenate([drawn(corner, config["per_class"]) for corner in CORNERS[:3]])
    asked = {name: drawn(CORNERS[k], n) for k, name in enumerate(CLASSES[:3])}
    unseen = np.tile(apart, (n, 1)).astype(np.float32)

    def over(amount: float) -> Rows:
        return (unseen + np.array([amount, 0.0])).astype(np.float32)

    return Setting(
        shown, shown, asked, unseen, over, lambda found: np.clip(found / apart, 0.0, 1.0)
    )


def checkpoints(first: int, last: int, n: int) -> list[int]:
    """Return steps whose roots are evenly spaced, as published."""
    roots = np.linspace(np.sqrt(first), np.sqrt(last), n)
    found = np.floor(roots**2 + 1e-9).astype(int)
    found[-1] = last
    return np.unique(found).tolist()


def prompts_of(config: Config, given: Setting) -> dict[str, Prompt]:
    """Return what a model is asked for: every class, and the unseen one in other ways.

    Over-prompts overstate the colour; directions move what the model makes of the condition along
    the way from red to blue; guidance overstates the condition as a whole.
    """
    found = {name: Prompt(conditions=rows) for name, rows in given.seen.items()}
    found[UNSEEN] = Prompt(conditions=given.unseen)
    found |= {f"over {a:g}": Prompt(conditions=given.over(a)) for a in config["over"]}
    red, blue = given.seen[CLASSES[0]], given.seen[CLASSES[2]]
    for amount in config["directions"]:
        found[f"direction {amount:g}"] = Prompt(
            conditions=given.unseen, toward=blue, away=red, amount=amount
        )
    for weight in config["guidance"]:
        found[f"guidance {weight:g}"] = Prompt(conditions=given.unseen, guidance=weight)
    return found


def train(config: Config) -> Arrays:
    """Train one model without the unseen class, and read what it draws on the way.

    Returns
    -------
    dict
        steps (T,), coordinates (T, prompts, n, 2), bits (L, 3), and of images pictures, the first
        few of the unseen class, (T, KEPT, side, side, 3) in 256 levels.
    """
    given = points(config) if config["model"] == "vector" else images(config)
    prompts = prompts_of(config, given)
    run = train_diffusion(
        diffusion_model(config["model"], condition=given.conditions.shape[1], seed=config["seed"]),
        given.samples,
        given.conditions,
        DiffusionRecipe(**(config["recipe"] | {"steps": config["steps"]})),
        seed=config["seed"],
        at=checkpoints(config["first"], config["steps"], config["checkpoints"]),
        prompts=prompts,
        read=given.read,
        keep_samples=config["model"] != "vector",
        progress=False,
    )
    found = {
        "steps": run.steps,
        "coordinates": np.stack([run.coordinates[name] for name in prompts], axis=1),
        "bits": run.bits,
    }
    if run.samples:
        levels = 255.0 * np.clip(run.samples[UNSEEN][:, :KEPT].astype(float), 0.0, 1.0)
        found["pictures"] = np.rint(levels).astype(np.uint8)
    return found


def names_of(config: Config) -> list[str]:
    """Return the names of a cell's prompts in their order."""
    others = [
        f"{kind} {amount:g}"
        for kind, key in (("over", "over"), ("direction", "directions"), ("guidance", "guidance"))
        for amount in config[key]
    ]
    return [*CLASSES, *others]


def late(steps: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return which checkpoints are late: those after half of the steps."""
    return np.asarray(steps) > 0.5 * np.max(steps)
