"""What is claimed of ReLU networks beside their limits, and what was found."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import xarray as xr

from partwhole.study import Claim
from partwhole.study.estimates import by_seed, estimate, estimate_by_seed, known
from partwhole_studies.gated import _relu_published as published
from partwhole_studies.gated._relu_runs import (
    ENDS,
    GATES,
    HIDDEN,
    LEARNED,
    LINEAR,
    NETWORK,
    RANDOM,
    STEPS,
)

HERE = "derived here"
PAPER = "Lippl, Abbott & Chung (2022), published runs of figure 3"
OTHER = "Published for MNIST, with at least 500 images to train on: not these images."
WITHIN = 0.05  # of an agreement, about the spread of three seeds
NEAR = 0.01  # of an error


def claims(data: xr.Dataset) -> list[Claim]:
    found = []
    for momentum in sorted(data.momentum.values.tolist(), reverse=True):
        here = data.sel(momentum=momentum)
        found += [
            *_on_agreement(here, momentum),
            *_on_decisions(here, momentum),
            *_on_errors(here, momentum),
            *_on_margins(here, momentum),
        ]
    return [
        *found,
        *_on_best(data),
        *_on_momentum(data),
        *_on_programs(data),
        *_on_networks(data),
    ]


def _largest(values: xr.DataArray) -> float:
    """Return the largest that was found, NaN where none was."""
    found = known(values)
    return float(found.max()) if len(found) else float("nan")


def _counted(values: xr.DataArray) -> str:
    """Say of how many programs a mean is, so that none goes missing in silence."""
    solved = int(np.isfinite(values).sum())
    left = values.size - solved
    return f"{solved} networks" + (f"; {left} more without a solution left out." if left else ".")


def _at(momentum: float) -> str:
    return f"momentum {momentum:g}"


def _is_mnist(data: xr.Dataset) -> bool:
    return data.attrs["images"] == "mnist"


def _on_agreement(data: xr.Dataset, momentum: float) -> list[Claim]:
    found = []
    agreement = {kind: data.agreement.sel(kind=kind) for kind in (HIDDEN, LEARNED, RANDOM, LINEAR)}
    pairs = [*pairwise((HIDDEN, LEARNED, RANDOM, LINEAR)), (LEARNED, LINEAR)]
    for more, less in pairs:
        gain = agreement[more] - agreement[less]
        centre, interval = estimate_by_seed(gain)
        rest = ""
        told = published.AGREEMENT[momentum]
        if less in told:
            rest = f" Published means: {told[more]:.3f} and {told[less]:.3f}."
        name = "the linear machine" if less == LINEAR else f"the limit of {less}"
        found.append(
            Claim(
                f"The network agrees more with the limit of {more} than with {name}: difference "
                f"in agreement beyond chance, {_at(momentum)}.",
                PAPER if less in told else HERE,
                0.0,
                centre,
                0.0,
                interval,
                relation="at least",
                note=f"Means over widths of {data.sizes['seed']} seeds; {_counted(gain)}{rest}",
            )
        )
    for kind in (LEARNED, RANDOM):
        low = data.low.sel(kind=kind)
        found.append(
            Claim(
                f"Of single networks too: share whose agreement with the limit of {kind} is above "
                f"chance with its whole 95 % interval, {_at(momentum)}.",
                HERE,
                1.0,
                float((low > 0).where(np.isfinite(low)).mean()),
                0.0,
                note=f"By bootstrap over the images reported on; {_counted(low)} On average the "
                f"intervals are {float((data.high.sel(kind=kind) - low).mean()):.2f} wide.",
            )
        )
    for kind, number in published.AGREEMENT[momentum].items():
        centre, interval = estimate_by_seed(agreement[kind])
        found.append(
            Claim(
                f"Agreement beyond chance of the network and the limit of {kind}, {_at(momentum)}.",
                PAPER,
                number,
                centre,
                WITHIN,
                interval,
                applies=_is_mnist(data),
                note=_counted(agreement[kind]) + ("" if _is_mnist(data) else f" {OTHER}"),
            )
        )
    return found


def _on_decisions(data: xr.Dataset, momentum: float) -> list[Claim]:
    found = []
    p = data.error.sel(part="report", kind=NETWORK)
    for kind in (HIDDEN, LEARNED, RANDOM):
        apart = data.apart_from_network.sel(kind=kind)
        below = (apart < 2 * p * (1 - p)).where(np.isfinite(apart))
        found.append(
            Claim(
                f"Network and limit of {kind} decide differently less often than 2 p (1 - p), as "
                f"independent errors of the network's size would: share of networks, "
                f"{_at(momentum)}.",
                PAPER,
                1.0,
                float(below.mean()),
                0.0,
                note=f"{_counted(apart)} On average on {float(apart.mean()):.4f} of the images.",
            )
        )
    return found


def _on_errors(data: xr.Dataset, momentum: float) -> list[Claim]:
    found = []
    error = data.error.sel(part="report")
    network, line = error.sel(kind=NETWORK), error.sel(kind=LINEAR)
    for kind in (HIDDEN, LEARNED, RANDOM):
        above = error.sel(kind=kind) - network
        centre, interval = estimate_by_seed(above)
        told = published.ABOVE[momentum][kind]
        found.append(
            Claim(
                f"Error of the limit of {kind} above that of the network, {_at(momentum)}.",
                PAPER,
                told,
                centre,
                NEAR,
                interval,
                applies=_is_mnist(data),
                note=_counted(above) + ("" if _is_mnist(data) else f" {OTHER}"),
            )
        )
    for kind in (LEARNED, RANDOM):
        # Of means over widths: single improvements can be near 0.
        solved = np.isfinite(error.sel(kind=kind))
        gains = [by_seed((line - each).where(solved)) for each in (error.sel(kind=kind), network)]
        better = gains[1] > 0  # a share of nothing is none
        share = gains[0][better] / gains[1][better]
        mean, interval = estimate(share)
        told = ", ".join(f"{each:.2f}" for each in published.recovered(kind))
        slack = int((data.hard == 0).sum())
        found.append(
            Claim(
                f"The limit of {kind} recovers most of what the network gains over the linear "
                f"machine: share of the difference in error, {_at(momentum)}.",
                PAPER,
                0.5,
                mean,
                0.0,
                interval,
                relation="at least",
                note=f"Errors: linear {float(line.mean()):.4f}, limit "
                f"{float(error.sel(kind=kind).mean()):.4f}, network {float(network.mean()):.4f}. "
                f"Published, of least errors on MNIST: {told}."
                + (f" {slack} of {data.hard.size} linear machines need slack." if slack else ""),
            )
        )
    return found


def _on_margins(data: xr.Dataset, momentum: float) -> list[Claim]:
    found = []
    share = {end: data.share.sel(end=end) for end in ENDS}
    descent, flow = ENDS
    centre, interval = estimate_by_seed(share[descent])
    found.append(
        Claim(
            f"{STEPS:,} steps don't reach the limit: less than 0.9 of the largest margin that the "
            f"network's own gates allow, {_at(momentum)}.",
            HERE,
            0.9,
            centre,
            0.0,
            interval,
            relation="at most",
            note="By width, mean of the seeds: "
            + ", ".join(
                f"{width} units {float(share[descent].sel(units=width).mean()):.2f}"
                for width in data.units.values
            )
            + ". Like errors are therefore no sign of having reached it. On scikit-learn's digits "
            "gated networks were found at .28 to .44 after as many steps.",
        )
    )
    onward = np.isfinite(share[flow])
    if not bool(onward.any()):
        return found
    gain = share[flow] - share[descent]
    centre, interval = estimate_by_seed(gain)
    found.append(
        Claim(
            "Training on with gates frozen brings the margin nearer to the limit's: gain in share, "
            f"{_at(momentum)}.",
            HERE,
            0.0,
            centre,
            0.0,
            interval,
            relation="at least",
            note=f"From {float(share[descent].mean()):.2f} to {float(share[flow].mean()):.2f}.",
        )
    )
    apart = {end: data.apart.sel(end=end).where(onward) for end in ENDS}
    centre, interval = estimate_by_seed(apart[descent] - apart[flow])
    before, after = (float(apart[end].mean()) for end in ENDS)
    found.append(
        Claim(
            "And with it the network decides more as the limit of learned gates does: share of "
            f"images by which they differ less, {_at(momentum)}.",
            HERE,
            0.0,
            centre,
            0.0,
            interval,
            relation="at least",
            note=f"They differ on {after:.4f} of the images, after {before:.4f}. Of gated networks "
            "on scikit-learn's digits it was found to fall by about half.",
        )
    )
    return found


def _on_best(data: xr.Dataset) -> list[Claim]:
    """Choose width and momentum on images of their own, and beside it on those reported on."""
    kinds = (NETWORK, HIDDEN, LEARNED, RANDOM)
    picked, least = {}, {}
    for kind in kinds:
        picked[kind], least[kind] = _chosen(data.error.sel(kind=kind))
    centre, interval = estimate_by_seed(picked[HIDDEN] - picked[NETWORK])
    wider = [a - b for a, b in zip(published.LEAST_WIDER, published.LEAST[NETWORK], strict=True)]
    alike = [a - b for a, b in zip(published.LEAST[HIDDEN], published.LEAST[NETWORK], strict=True)]
    found = [
        Claim(
            "With widths alike, and chosen on images of their own, the limit of the hidden layer "
            "errs as often as the network: difference.",
            PAPER,
            0.0,
            centre,
            NEAR,
            interval,
            note="The published hidden layer errs less ("
            + ", ".join(f"{each:+.4f}" for each in wider)
            + ") since it alone may have 500 and 1,000 units; with the same widths "
            + ", ".join(f"{each:+.4f}" for each in alike)
            + ".",
        )
    ]
    gained = np.stack([(picked[kind] - least[kind]).values for kind in kinds])
    flattery = xr.DataArray(gained, dims=("kind", "n", "seed"))
    centre, interval = estimate_by_seed(flattery)
    means = ", ".join(
        f"{'network' if kind == NETWORK else kind} {float(picked[kind].mean()):.4f} "
        f"({float(least[kind].mean()):.4f})"
        for kind in kinds
    )
    found.append(
        Claim(
            "Published best errors choose width and momentum on the images they report; that "
            "flatters by at most a hundredth: mean of the four kinds.",
            HERE,
            NEAR,
            centre,
            0.0,
            interval,
            relation="at most",
            note=f"Chosen on other images (least on those reported): {means}.",
        )
    )
    if _is_mnist(data):
        for kind in (NETWORK, LEARNED, RANDOM):
            name = kind if kind == NETWORK else f"limit of {kind}"
            for place, n in enumerate(published.SIZES):
                if n in data.n.values:
                    told = least[kind].sel(n=n)
                    centre, interval = estimate_by_seed(told)
                    found.append(
                        Claim(
                            f"Least error of the {name} with {n} images.",
                            PAPER,
                            published.LEAST[kind][place],
                            centre,
                            NEAR,
                            interval,
                        )
                    )
    return found


def _chosen(error: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray]:
    """Return the reported error of what errs least in selection, and the least reported one."""
    flat = error.stack(choice=("units", "momentum")).transpose("part", "n", "seed", "choice")
    selection, report = np.nan_to_num(flat.values, nan=np.inf)  # not chosen without a solution
    at = selection.argmin(axis=-1)[..., None]
    found = [np.take_along_axis(report, at, axis=-1)[..., 0], report.min(axis=-1)]
    picked, least = (
        xr.DataArray(
            np.where(np.isfinite(each), each, np.nan),
            coords={"n": error.n, "seed": error.seed},
            dims=("n", "seed"),
        )
        for each in found
    )
    return picked, least


def _on_momentum(data: xr.Dataset) -> list[Claim]:
    flipped = data.flipped
    centre, interval = estimate_by_seed(flipped)
    found = [
        Claim(
            "Gates of a ReLU network move while it learns: share of gates that end otherwise than "
            "they began, at least a hundredth.",
            HERE,
            0.01,
            centre,
            0.0,
            interval,
            relation="at least",
            note="By width: "
            + ", ".join(
                f"{width} units {float(flipped.sel(units=width).mean()):.2f}"
                for width in data.units.values
            )
            + ". The limit of learned gates is given where they end; it doesn't foretell that.",
        )
    ]
    if data.sizes["momentum"] < 2:
        return found
    share = data.share.sel(end=ENDS[0])
    for name, values, words in (
        ("gates", flipped, "moves more gates: difference in share."),
        ("margin", share, "comes nearer to the largest margin: difference in share."),
    ):
        centre, interval = estimate_by_seed(values.sel(momentum=0.9) - values.sel(momentum=0.0))
        found.append(
            Claim(
                f"In as many steps momentum 0.9 {words}",
                HERE,
                0.0,
                centre,
                0.0,
                interval,
                relation="at least",
                note=f"Share of the {name}: {float(values.sel(momentum=0.9).mean()):.3f} and "
                f"{float(values.sel(momentum=0.0).mean()):.3f} without momentum.",
            )
        )
    return found


def _on_programs(data: xr.Dataset) -> list[Claim]:
    separated = data.training_error == 0.0
    ran = np.isfinite(data.training_error)
    total, found = int(ran.sum()), []
    for kind in (HIDDEN, LEARNED):
        solved = data.solved.sel(kind=kind) == 1.0
        found.append(
            Claim(
                f"Where the network decides all training images right, the limit of {kind} has a "
                "solution: how many do.",
                HERE,
                int(separated.sum()),
                int((solved & separated).sum()),
                0,
                note=f"The network itself meets the constraints there. {int((solved & ran).sum())} "
                f"of {total} are solved; {total - int(separated.sum())} networks still err on "
                "training images. Published means leave out programs without a solution.",
            )
        )
    counts = {
        int(width): int((data.solved.sel(kind=GATES, units=width) == 1.0).sum())
        for width in data.units.values
    }
    each = total // max(1, len(counts))
    found.append(
        Claim(
            "The pattern of open gates alone, with up to 50 units, doesn't separate the training "
            "images: programs solved.",
            PAPER,
            0,
            sum(count for width, count in counts.items() if width <= 50),
            0,
            note=", ".join(f"{width} units: {count} of {each}" for width, count in counts.items())
            + ". Published: none of 72 with up to 100 units, on MNIST with 500 training images or "
            "more.",
        )
    )
    found.append(
        Claim(
            "Limits by the sum of unit norms are solved: largest share by which one may lie above "
            "the least, by its dual.",
            HERE,
            0.0,
            _largest(data.gap),
            1e-6,
            relation="at most",
        )
    )
    found.append(
        Claim(
            "No network has a larger margin than the limit of its own gates: largest share found.",
            HERE,
            1.0,
            _largest(data.share),
            1e-6,
            relation="at most",
            note="After training, against the value of the convex program.",
        )
    )
    return found


def _on_networks(data: xr.Dataset) -> list[Claim]:
    doubled = known(data.doubled)
    found = [
        Claim(
            "The networks have no biases, as the theory asks: doubling all weights makes outputs "
            "four times as large; the factor farthest from that.",
            PAPER,
            4.0,
            float(doubled[np.abs(doubled - 4.0).argmax()]),
            1e-4,
            note="Single precision. The published gated networks, unlike the ReLU networks, have "
            "a bias in their readout that the theory leaves out.",
        )
    ]
    if not _is_mnist(data):
        return found
    error = data.error.sel(part="report", kind=NETWORK)
    for (momentum, n), told in published.ERRORS.items():
        if momentum not in data.momentum.values or n not in data.n.values:
            continue
        for width, number in zip(published.WIDTHS, told, strict=True):
            if width in data.units.values:
                centre, interval = estimate_by_seed(error.sel(momentum=momentum, n=n, units=width))
                found.append(
                    Claim(
                        f"Error of networks of {width} units with {n} images, {_at(momentum)}.",
                        PAPER,
                        number,
                        centre,
                        NEAR,
                        interval,
                        note="Images split otherwise than the published ones.",
                    )
                )
    return found
