"""Public functions as users call them: awkward arguments, and the same data given otherwise.

Every argument of a good call, and every one that it leaves out, is given in other forms that mean
the same, in forms that must be refused, and in unusual ones: the answer is right, or one sentence.
Every array is given in another order, twice with half the weight, and in other units: the answer
follows, or it is among those below, with the reason. A room's are printed by
`python tests/fixtures/call_trials.py ROOM`.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum

import good_calls
import numpy as np
import pytest
import relations
import rooms

Reasons = Mapping[str, Mapping[str, str]]  # the arguments of each function, by reason

ORDER: Reasons = {
    "the other half of what belongs together is held by the object": {
        "features.ConjunctionDesign.part": "coefficients",
        "features.ConjunctionDesign.adjoint": "multipliers",
        "features.ConjunctionDesign.gram": "weights",
        "features.DenseDesign.adjoint": "multipliers",
        "features.GatedDesign.adjoint": "multipliers",
        "features.GatedDesign.block_outputs": "coefficients",
        "features.GatedDesign.unit_weights": "coefficients",
        "features.GatedDesign.weighted_gram": "weights",
        "limits.Certificate.sum_in_words": "task",
        "limits.Derivation.in_words": "task",
        "flows.descend of Deep": "second_moment,mean",
        "flows.flow of Deep": "second_moment,mean",
        "flows.forecast": "w0,second_moment",
        "flows.stages": "second_moment",
        "flows.identity_losses": "second_moment",
        "training.ConceptClassifier.coordinates": "target",
        "measures.concepts.fit_regressor": "images",
        "comparison.compare": "task",
        "comparison.compare of outputs": "task",
        "comparison.compare of runs": "task",
        "comparison.compare with a limit": "task,answers",
        "measures.order_violations": "losses",
        "measures.held_out_readouts": "targets",
        "measures.predict_readout of a recording": "is_train",
    },
    "one entry for each set of components, or each record of a curve": {
        "features.kernel_spectrum": "sigma",
        "features.moebius": "kappa",
        "features.network_sigma": "input_kappa",
        "features.zeta": "sigma",
        "measures.noise_threshold": "values",
        "measures.swing": "losses",
    },
    "what is drawn goes by the place of a row": {
        "tasks.ComposedImages.draw": "rows",
        "tasks.AttributeSpace.render": "is_train",
        "tasks.ConceptSpace.sample": "is_train",
        "tasks.PublishedTriangleSpace.sample": "is_train",
        "tasks.split_classes": "images,labels",
        "training.bits_per_dimension": "samples,conditions",
        "training.train_concept_classifier": "images,components",
        "training.train of diffusion models": "data",
        "training.search_learning_rate of images": "data",
        "training.train of images": "data,test",
    },
    "the rows are runs, each of a network or seed of its own": {
        "training.relu_probing": "inputs,targets",
    },
    "coefficients in a basis that is found anew": {
        "limits.solve with similarities": "targets,learner,is_train",
        "training.kernel_regime": "inputs,targets,is_train",
    },
    "sentences that number the concepts": {"flows.check_assumptions": "w0,second_moment"},
}
# Along which an answer is a curve, so that there is but one order.
ORDERED = {"times", "steps", "record"}

TWICE: Reasons = {
    "intervals, corrections and remarks that count the rows": {
        "measures.contrasts": "task,predictions",
        "measures.count_salience": "features,components",
        "measures.decision_agreement": "network,limit,labels,linear",
        "measures.predict_readout": "features,components,targets,is_train",
        "measures.salience": "features,components",
        "measures.salience of groups": "features,components,groups",
        "networks.layer_saliences": "inputs,components",
        "comparison.compare": "answers,has_learned",
        "comparison.compare of runs": "answers,theory",
        "audit.audit_split": "table,features",
    },
    "what is drawn goes by the place of a row": {
        name: ORDER["what is drawn goes by the place of a row"][name]
        for name in (
            "tasks.split_classes",
            "training.bits_per_dimension",
            "training.train_concept_classifier",
            "training.train of diffusion models",
            "training.search_learning_rate of images",
            "training.train of images",
        )
    },
    "the rows are runs, of as many networks": {
        "training.relu_probing": "inputs,targets",
    },
    "the other half of what belongs together is held by the object": {
        "limits.Certificate.sum_in_words": "task",
        "limits.Derivation.in_words": "task",
        "measures.concepts.fit_regressor": "images",
        "comparison.compare": "task",
        "comparison.compare of outputs": "task",
        "comparison.compare of runs": "task",
        "comparison.compare with a limit": "task,answers",
        "measures.retreat": "targets",
        "measures.held_out_readouts": "targets",
        "measures.predict_readout of a recording": "is_train",
    },
    "a picture has one row, and the sentence says so": {"tasks.from_folder": "table"},
    "a sweep takes distinct rows, and says so": {
        "limits.solve for orders": "data",
        "limits.interpolation_sweep": "task",
    },
    "a basis of the same space, or another square root, found anew": {
        "limits.determination": "task",
        "limits.solve with similarities": "targets,learner,is_train",
        "training.kernel_regime": "inputs,targets,is_train",
        "flows.QuadraticLoss.from_sample": "inputs,targets",
    },
}

UNITS: Reasons = {
    "probabilities, shares, cosines, brightness, coordinates and labels have no unit": {
        "tasks.ShapeAttributes": "colour; size; background",
        "measures.accuracy": "targets",
        "measures.accuracy of classes": "targets",
        "measures.concepts.between": "attribute",
        "measures.concepts.calibration": "coordinates; truth",
        "measures.concepts.decode_shapes": "images",
        "measures.concepts.ConceptRegressor.values": "images",
        "measures.concepts.ConceptRegressor.coordinates": "images",
        "measures.concepts.capability": "coordinates; target",
        "measures.concepts.concept_path": "coordinates; target",
        "measures.decision_agreement": "labels",
        "measures.diagnose": "fractions",
        "measures.concepts.emergence": "accuracy; target",
        "measures.concepts.fit_emergence": "accuracies; n",
        "measures.learning_order": "fractions",
        "limits.solve with gates": "targets",
        "limits.effective_salience": "slope",
        "limits.interpolation_sweep": "salience",
        "limits.invariance_margin": "salience",
        "limits.margin_sweep": "task",
        "limits.solve for margins": "data",
        "limits.solve for classes": "targets",
        "limits.solve for several labels": "targets",
        "limits.memorization_leak": "salience; memorization",
        "limits.partial_exposure_margin": "salience",
        "limits.regime": "order; feature_dependence",
        "limits.relu_penalty": "cosine",
        "limits.shortcut_margin": "order_1; order_2",
        "comparison.compare of runs": "theory",
        "comparison.compare with a limit": "task",
        "flows.relaxation_time": "fraction",
        "flows.swing_diagram": "ratios; correlations",
    },
    "the size that a nonlinear rule is written for": {
        "features.dense_kernel": "inputs; other",
        "tasks.ReLUTeacher.test_error": "hidden; readout",
        "limits.DiagonalWeights": "hidden_plus; readout_plus; hidden_minus; readout_minus",
        "limits.HyperbolicEntropy": "tilt",
        "limits.hyperbolic_entropy": "ratio",
        "limits.hyperbolic_price": "tilt",
    },
    "a ridge is in squared units of features": {"measures.predict_readout": "features"},
    "the other half of what belongs together is held by the object": {
        "flows.flow": "times",
        "flows.Path.probe_losses": "probes; targets",
    },
    "what is learned is the identity, which is 1": {
        "flows.identity_losses": "states",
        "flows.check_assumptions": "w0",
        "flows.cholesky_path": "w0",
        "flows.cholesky_valid": "w0",
        "flows.forecast": "w0; second_moment",
        "flows.learning_clocks": "w0",
        "flows.minor_peak": "w0",
        "flows.flow of OneLayer": "w0",
        "flows.one_sided_field": "w",
        "flows.flow of OneSided": "w0",
        "flows.swing_forecast": "w0",
        "flows.descend of Tied": "w0",
        "flows.tied_field": "w",
        "flows.flow of Tied": "w0",
    },
    "a bias, a task or a step has a clock of its own": {
        "flows.descend of Deep": "second_moment; mean",
        "flows.flow of Deep": "second_moment; mean; times",
        "flows.deep_stability_limit": "second_moment; mean",
        "flows.flow of Diagonal with tasks": "times",
        "flows.flow of OneLayer": "second_moment; mean; times",
        "flows.swing_diagram": "times",
        "flows.QuadraticLoss.__call__": "coefficients",
        "measures.concepts.emergence_law": "t",
        "measures.concepts.fit_emergence": "steps",
    },
}


def listed(reasons: Reasons) -> set[tuple[str, str]]:
    """Return every function with its arguments."""
    return {
        (name, names)
        for functions in reasons.values()
        for name, all_names in functions.items()
        for names in all_names.split("; ")
    }


def tried(room: str) -> set[str]:
    """Return the functions of a room that have a good call."""
    return {name for name, *_ in good_calls.trials(room, "doors")}


@pytest.mark.parametrize("room", good_calls.ROOMS)
def test_every_outcome_is_right_or_one_sentence(room):
    table = good_calls.trials(room, "doors")
    assert len(table) > 50
    assert [row for row in table if row[-1] not in ("right", "refused")] == []


@pytest.mark.parametrize("room", good_calls.ROOMS)
def test_the_answer_follows_the_data(room):
    table = good_calls.trials(room, "relations")
    assert table
    said = [row for row in table if row[-1].split()[0] not in ("follows", "refused", "differs")]
    assert said == []
    for relation, reasons in (("order", ORDER), ("twice", TWICE), ("units", UNITS)):
        rows = {(name, names): word for name, kind, names, word in table if kind == relation}
        if relation == "order":
            curves = {pair for pair in rows if ORDERED & set(pair[1].split(","))}
            assert [pair for pair in curves if rows[pair] != "refused"] == []
            rows = {pair: word for pair, word in rows.items() if pair not in curves}
        apart = {pair for pair, word in rows.items() if word != "follows"}
        assert apart == {pair for pair in listed(reasons) if pair in rows}


def test_every_exception_is_of_a_function_that_is_tried():
    names = {name for room in good_calls.ROOMS for name in tried(room)}
    for reasons in (ORDER, TWICE, UNITS):
        assert {name for name, _ in listed(reasons)} <= names


def in_rows(function, good, names, order):
    return relations.in_rows(function, good, function(**good), names, order)


def in_units(function, good, units):
    return relations.in_units(function, good, function(**good), units)


def test_an_answer_that_does_not_follow_is_found():
    rows, order = np.arange(6.0), np.array([1, 0, 2, 3, 5, 4])
    twice = np.repeat(np.arange(6), 2)
    good = {"values": rows}
    assert in_rows(lambda values: np.cumsum(values), good, ["values"], order) != "follows"
    assert in_rows(lambda values: 2.0 * values, good, ["values"], order) == "follows"
    assert in_rows(lambda values: values.std(ddof=1), good, ["values"], twice) != "follows"
    assert in_units(lambda values: values + 1e-3, good, {"values": 1.0}) != "follows"
    cut = {"values": np.array([1.0, 1e-3])}
    assert in_units(lambda values: values * (values > 1e-6), cut, {"values": 1.0}) != "follows"


def public(room: str) -> Iterator[tuple[str, object]]:
    """Yield the name of every function, class and method of a room that takes arguments."""
    for name, found in rooms.offered(room).items():
        if inspect.isfunction(found) and inspect.signature(found).parameters:
            yield name, found
        if inspect.isclass(found) and not issubclass(found, Enum):
            if hasattr(found.__init__, "__door__"):
                yield name, found.__init__
            if getattr(found, "_is_protocol", False):
                continue
            bases = [base for base in found.__mro__ if base.__module__.startswith("partwhole")]
            members = {title: each for base in bases[::-1] for title, each in vars(base).items()}
            for title, member in members.items():
                method = getattr(member, "__func__", member)
                if not inspect.isfunction(method) or title.startswith("_"):
                    continue
                if len(inspect.signature(method).parameters) > 1 and not traced(method):
                    yield f"{name}.{title}", method


def is_in_solvers(room: str, name: str) -> bool:
    owner, _, method = name.partition(".")
    return method in good_calls.IN_SOLVERS.get(room, {}).get(owner, set())


def traced(method: Callable[..., object]) -> bool:
    """Return whether a method is a step that JAX traces, of arrays of its own."""
    return any("Float[Array" in str(each.annotation) for each in parameters(method))


def parameters(function: Callable[..., object]) -> Iterable[inspect.Parameter]:
    return inspect.signature(function).parameters.values()


@pytest.mark.parametrize("room", good_calls.ROOMS)
def test_every_public_function_has_a_door(room):
    for name, function in public(room):
        assert hasattr(function, "__door__") != is_in_solvers(room, name), name


@pytest.mark.parametrize("room", good_calls.ROOMS)
def test_every_public_function_has_a_good_call(room):
    names = {name for name, _ in public(room) if not is_in_solvers(room, name)}
    missing = names - {name.removeprefix(f"{room}.") for name in tried(room)}
    assert missing == good_calls.WITHOUT.get(room, set())


# Those of `good_calls`, and those whose functions take no arrays, or need files or long computing.
OPEN = [*good_calls.ROOMS, "measurement", "recommendation", "study"]


@pytest.mark.parametrize("room", OPEN)
def test_every_switch_has_a_door(room):
    """Any text, "no" too, would count as True."""
    takes_one = {
        name: function
        for name, function in public(room)
        if any("bool" in str(each.annotation).split() for each in parameters(function))
    }
    assert [name for name, function in takes_one.items() if not hasattr(function, "__door__")] == []


def test_a_switch_without_a_door_is_found(monkeypatch):
    networks = importlib.import_module("partwhole.networks")
    monkeypatch.setattr(networks, "mlp", inspect.unwrap(networks.mlp))
    with pytest.raises(AssertionError, match="mlp"):
        test_every_switch_has_a_door("networks")
