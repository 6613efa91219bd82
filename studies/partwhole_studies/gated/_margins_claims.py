"""What is claimed of margins along training and of limits, and what was found."""

from __future__ import annotations

import numpy as np
import xarray as xr
from jaxtyping import Float

from partwhole.features import HalfspaceGates
from partwhole.limits import Quadratic, gated_limit
from partwhole.study import Claim
from partwhole.study import plots as plots
from partwhole_studies.gated import _drawn as drawn

HERE = "derived here"
CLARABEL = "The largest margin is of another solver, Clarabel."
DATA = {"other": "D0"}
# One over the least sum of unit norms, by Clarabel; the last without unit 5.
LARGEST = dict.fromkeys(("far", "near", "three"), 1 / 2.97485384) | {
    "other": 1 / 13.22021976,
    "dead": 1 / 4.53420086,
}
OF_GROUP = 3.017  # what the convex limit's units cost chains
RECORDED = (2.455, 4.370, 2.343)  # of chains after 60,000 steps, from other starts
PLAIN = {1000: (0.53, 6.5e-3), 10_000: (0.66, 2.8e-4), 100_000: (0.72, 1.9e-5)}
SAME = 1e-3  # outputs on the training set that differ by less, relatively, are of one limit


def ends(data: xr.Dataset, case: str) -> dict[str, Float[np.ndarray, " runs"]]:
    """Return the last margins of each way as shares of the largest, or the largest found."""
    found = {
        way: data[f"{case}_{way}_margins"].values[:, -1]
        for way in ("published", "descent", "flow")
        if f"{case}_{way}_margins" in data
    }
    if f"{case}_ended" in data:
        found["ended"] = data[f"{case}_ended"].values
    if case in LARGEST:
        largest = LARGEST[case]
    elif case == "chains":
        largest = float(data["chains_value"].min()) ** -1.5
    elif case == "relu":
        # Published descent ends with other gates: its own limit is not asked for here.
        return {"flow": found["flow"] / data["relu_largest"].values}
    else:
        largest = max(float(each.max()) for each in found.values())
    return {way: each / largest for way, each in found.items()}


def alike(
    outputs: Float[np.ndarray, "runs n"], order: Float[np.ndarray, " runs"]
) -> list[list[int]]:
    """Return which runs end in one limit, in the order of their costs."""
    found: list[list[int]] = []
    for run in np.argsort(order, kind="stable").tolist():
        for each in found:
            size = np.linalg.norm(outputs[each[0]])
            if np.linalg.norm(outputs[run] - outputs[each[0]]) <= SAME * size:
                each.append(run)
                break
        else:
            found.append([run])
    return found


def claims(data: xr.Dataset) -> list[Claim]:
    found = [*_on_the_bound(data), *_on_the_flow(data)]
    parts = {
        "far_descent_margins": _on_plain_descent,
        "far_published_margins": _on_published,
        "three_singular": _on_three_layers,
        "dead_left": _on_a_unit_at_zero,
        "chains_value": _on_chains,
        "both_ended": _on_gates_in_two_layers,
        "relu_largest": _on_learned_gates,
    }
    for name, weigh in parts.items():
        if name in data:
            found += weigh(data)
    return found


def _on_the_bound(data: xr.Dataset) -> list[Claim]:
    margins = [
        float(data[name].max()) / LARGEST[case]
        for case in LARGEST
        for name in (*(f"{case}_{way}_margins" for way in ("flow", "descent", "published")),
                     f"{case}_ended")
        if name in data
    ]  # fmt: skip
    return [
        Claim(
            "No network ever has a larger margin than the limit: largest share of it met in "
            "training.",
            HERE,
            1.0,
            max(margins),
            1e-6,
            relation="at most",
            note=CLARABEL,
        )
    ]


def _on_the_flow(data: xr.Dataset) -> list[Claim]:
    found = []
    words = {"near": "starts of .05", "far": "starts of .3", "other": "other data"}
    for case, told in words.items():
        steps = data.get(f"{case}_flow_steps")
        if steps is None or int(steps[-1]) < 60_000:
            continue
        shares = ends(data, case)
        found.append(
            Claim(
                f"The normalised flow reaches at least .98 of the largest margin in {steps[-1]:,} "
                f"steps, two layers, {told}: least share.",
                HERE,
                0.98,
                float(shares["flow"].min()),
                0.0,
                relation="at least",
                note=f"{len(shares['flow'])} starts. {CLARABEL}",
            )
        )
        if "ended" in shares:
            found.append(
                Claim(
                    f"Implicit steps from there reach all of it, {told}: least share.",
                    HERE,
                    1.0,
                    float(shares["ended"].min()),
                    1e-6,
                    note=CLARABEL,
                )
            )
    return found


def _on_plain_descent(data: xr.Dataset) -> list[Claim]:
    margins = data["far_descent_margins"] / LARGEST["far"]
    losses = data["far_descent_loss"] / np.log(10.0)
    found = []
    for step, (share, loss) in PLAIN.items():
        at = {"far_descent_steps": step}
        centre, low, high = (float(e) for e in plots.mean_interval(margins.sel(at).values))
        found.append(
            Claim(
                f"Plain descent has about {share} of the largest margin after {step:,} steps.",
                HERE,
                share,
                centre,
                0.15,
                (low, high),
                note="Learning rate .1, all inputs; told of one draw, to .15.",
            )
        )
        centre, low, high = (float(e) for e in plots.mean_interval(losses.sel(at).values))
        found.append(
            Claim(
                f"Its loss is then about {loss:g}: decimal logarithm.",
                HERE,
                float(np.log10(loss)),
                centre,
                0.15,
                (low, high),
            )
        )
    late = margins.far_descent_steps >= 10_000
    shortfall = np.log(1.0 - margins.values[:, late.values])
    log_log = np.log(np.log(margins.far_descent_steps.values[late.values]))
    slopes = np.polyfit(log_log, shortfall.T, 1)[0]
    centre, low, high = (float(e) for e in plots.mean_interval(slopes))
    found.append(
        Claim(
            "What is left falls as one over the logarithm of the steps: slope of one's logarithm "
            "against the other's, from 10,000 steps on.",
            "Lyu & Li (ICLR 2020)",
            -1.0,
            centre,
            0.15,
            (low, high),
            note="The tolerance is for how little the logarithm of the steps grows: by a quarter.",
        )
    )
    return found


def _on_published(data: xr.Dataset) -> list[Claim]:
    shares = ends(data, "far")
    centre, low, high = (float(e) for e in plots.mean_interval(shares["published"]))
    apart = plots.mean_interval(shares["flow"] - shares["published"])
    further, lowest, highest = (float(e) for e in apart)
    return [
        Claim(
            "The published 3,200 steps end at .28 to .44 of the largest margin.",
            HERE,
            0.36,
            centre,
            0.08,
            (low, high),
            applies=False,
            note="Told of networks of 10 and 20 units on digits; here are 6 on a random draw.",
        ),
        Claim(
            "They end before the limit: by how much the flow goes further, same starts.",
            HERE,
            0.0,
            further,
            0.0,
            (lowest, highest),
            relation="at least",
            note="So alike errors of a network and its limit don't show that training has ended.",
        ),
    ]


def _on_three_layers(data: xr.Dataset) -> list[Claim]:
    shares = ends(data, "three")
    words = "Three layers, a linear one between, after the flow"
    found = [
        Claim(
            f"{words}: at least .97 of the margin that two layers have.",
            HERE,
            0.97,
            float(shares["flow"].min()),
            0.0,
            relation="at least",
            note=CLARABEL,
        ),
        Claim(
            f"{words}: unit norms add up to what weights of their size can bring about, least "
            "share.",
            HERE,
            0.999,
            float(data["three_balance"].min()),
            0.0,
            relation="at least",
        ),
        Claim(
            f"{words}: the linear layer has rank one, largest second singular value over the "
            "first.",
            HERE,
            0.02,
            float(data["three_singular"].max()),
            0.0,
            relation="at most",
        ),
    ]
    if "ended" in shares:
        found.append(
            Claim(
                "Implicit steps from there reach all of the margin that two layers have: least "
                "share.",
                HERE,
                1.0,
                float(shares["ended"].min()),
                1e-6,
                note=CLARABEL,
            )
        )
    return found


def _on_a_unit_at_zero(data: xr.Dataset) -> list[Claim]:
    shares = ends(data, "dead")
    other = LARGEST["dead"] / LARGEST["far"]
    found = [
        Claim(
            "A unit whose weights are all 0 at the start stays so: largest readout weight.",
            HERE,
            0.0,
            float(data["dead_left"].max()),
            0.0,
        ),
        Claim(
            "The others then reach the margin of a network without it: share after the flow.",
            HERE,
            1.0,
            float(shares["flow"].min()),
            0.03,
            note=f"It is {other:.3f} of the margin with that unit. {CLARABEL}",
        ),
    ]
    if "ended" in shares:
        found.append(
            Claim(
                "Implicit steps end there, at a stationary point that is not the best: share.",
                HERE,
                1.0,
                float(shares["ended"].min()),
                1e-6,
                note=CLARABEL,
            )
        )
    return found


def _on_chains(data: xr.Dataset) -> list[Claim]:
    value, way = data["chains_value"].values, data["chains_on_the_way"].values
    steps = int(data["chains_flow_steps"][-1])
    groups = alike(data["chains_outputs"].values, value)
    limits = value[[runs[0] for runs in groups]]
    excess = way / value - 1.0
    found = [
        Claim(
            "Chains of three layers have several limits: number met.",
            HERE,
            2,
            len(groups),
            0,
            relation="at least",
            note=", ".join(
                f"{value[runs[0]]:.4f} ({len(runs)} of {len(value)} starts)" for runs in groups
            ),
        ),
        Claim(
            "What the limit of the group norm costs chains.",
            HERE,
            OF_GROUP,
            float(data["chains_of_group"]),
            1e-3 * OF_GROUP,
            note=CLARABEL.replace("largest margin", "reference's limit"),
        ),
        Claim(
            "No chain ends in the limit of the group norm: least relative distance of costs.",
            HERE,
            0.05,
            float(np.abs(limits / OF_GROUP - 1.0).min()),
            0.0,
            relation="at least",
        ),
        Claim(
            "The cheapest is a single unit's: its own largest margin, of one gated unit.",
            HERE,
            _best_single(),
            float(limits[0]),
            1e-6 * float(limits[0]),
            note="The reference is a support vector machine in each context of one unit.",
        ),
        Claim(
            f"After {steps:,} steps of the flow a chain's cost is within 5 % of its limit's: "
            "largest excess.",
            HERE,
            0.05,
            float(excess.max()),
            0.0,
            relation="at most",
            note="The flow slows down while a unit vanishes; values read then are no limits.",
        ),
    ]
    if "chains_ended" in data:
        by_weights = data["chains_ended"].values ** (-2.0 / 3.0)
        found.append(
            Claim(
                "Implicit steps in the weights end where the cost of paths is stationary: largest "
                "relative difference of the two costs.",
                HERE,
                0.0,
                float(np.abs(by_weights / value - 1.0).max()),
                1e-6,
                note="One by gradients of all weights, the other by a sequence of convex programs "
                "in the paths.",
            )
        )
    found += [
        Claim(
            "A cost of chains that was recorded after 60,000 steps, from another start, is a "
            "limit.",
            HERE,
            told,
            float(limits[np.abs(limits - told).argmin()]),
            0.05 * told,
            note="Found: the nearest limit met here. Of the recorded values two are still on "
            "their way.",
        )
        for told in RECORDED
    ]
    return found


def _best_single() -> float:
    """Return the least cost of one chain alone, among all units."""
    inputs, labels, gates = drawn.draw("D1")
    costs = []
    for unit in range(gates.n_units):
        one = HalfspaceGates(gates.normals[[unit]], gates.thresholds[[unit]])
        found = gated_limit(one, inputs, labels, Quadratic())
        costs.append((2.0 * found.limit.value) ** (1.0 / 3.0))
    return float(np.nanmin(costs))


def _on_gates_in_two_layers(data: xr.Dataset) -> list[Claim]:
    margins, residual = data["both_ended"].values, data["both_residual"].values
    groups = alike(data["both_outputs"].values, -margins)
    return [
        Claim(
            "With gates in two layers implicit steps end in stationary points: largest residual.",
            HERE,
            0.0,
            float(residual.max()),
            3e-3,
            note="Of the weights' size. Norms are followed to 1e-10 of themselves, and weights to "
            "about its root.",
        ),
        Claim(
            "There are several, of different margins: number met.",
            HERE,
            2,
            len(groups),
            0,
            relation="at least",
            note="Margins "
            + ", ".join(f"{margins[runs[0]]:.4f} ({len(runs)})" for runs in groups)
            + f"; {len(margins)} starts. No cost of paths is known that would tell the largest.",
        ),
    ]


def _on_learned_gates(data: xr.Dataset) -> list[Claim]:
    shares = ends(data, "relu")["flow"]
    edges, residual = data["relu_edges"].values, data["relu_residual"].values
    flipped = data["relu_flipped"].values
    centre, low, high = (float(e) for e in plots.mean_interval(edges))
    return [
        Claim(
            "A ReLU network has at most the margin of the limit with the gates it ends with: "
            "largest share.",
            HERE,
            1.0,
            float(shares.max()),
            1e-6,
            relation="at most",
            note=f"Shares {', '.join(f'{each:.3f}' for each in shares)}; "
            f"{flipped.mean():.0%} of the gates changed on the way.",
        ),
        Claim(
            "With those gates frozen it is at a stationary point: largest residual of the weights.",
            "derived here, for almost all weights",
            0.0,
            float(residual.max()),
            0.05,
            note="It doesn't hold where sums are at the edge of their gates, where a gate may be "
            "neither open nor shut; and there it ends.",
        ),
        Claim(
            "Few sums end at the edge of their gate: share within 1e-4 of 0, of their largest "
            "possible size.",
            HERE,
            CHANCE,
            centre,
            0.0,
            (low, high),
            relation="at most",
            note=f"{len(edges)} starts. The reference is the share among random directions.",
        ),
    ]


# Of two random directions in 7 dimensions, within 1e-4 of a right angle: 2e-4 of 15 / 16.
CHANCE = 2e-4 * 15 / 16
