"""The rules of an audit: what each means, when it is broken and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Int

from partwhole._door import door

if TYPE_CHECKING:
    from partwhole.audit.settings import Settings

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Rule:
    """Say what a rule asks of a split.

    Parameters
    ----------
    id : str
        Stable: build servers and settings refer to it.
    severity : {"error", "warning", "note"}
        An error makes the split unsupported.
    meaning : str
        What is wrong when it is broken, in plain words.
    trigger : str
        When exactly it is broken.
    threshold : str
        The setting that it compares with; empty when it has none.
    remedy : str
        What to do.
    also : tuple of str
        Further settings it compares with.
    """

    id: str
    severity: Severity
    meaning: str
    trigger: str
    threshold: str
    remedy: str
    also: tuple[str, ...] = ()

    @door
    def in_force(self, settings: Settings) -> str:
        """Write the thresholds that it compares with.

        Parameters
        ----------
        settings : Settings

        Returns
        -------
        str

        Examples
        --------
        >>> from partwhole.audit.settings import Settings
        >>> RULES["strong-leak"].in_force(Settings(leak_slope=0.25))
        'leak_slope = 0.25'
        """
        names = [name for name in (self.threshold, *self.also) if name]
        return ", ".join(f"{name} = {getattr(settings, name):g}" for name in names)


@dataclass(frozen=True, eq=False)
class Finding:
    """Say where a rule is broken.

    Parameters
    ----------
    rule : str
        The rule's id, a key of `RULES`.
    severity : {"error", "warning", "note"}
    message : str
        One or two sentences with numbers, names and what to do.
    rows : int array, shape (r,)
        Rows of the table that it is about, counted from 0.
    split : str
        The test split's name, or that of training.
    subject : str
        What it is about, such as ``shape = circle``; empty for the whole split.
    silenced : str or None
        The reason given for not counting it; None when it counts.
    """

    rule: str
    severity: Severity
    message: str
    rows: Int[np.ndarray, " r"]
    split: str
    subject: str
    silenced: str | None = None

    def __repr__(self) -> str:
        """Return the rule and the message."""
        return f"Finding({self.rule}: {self.message})"


_TABLE = (
    Rule(
        "unseen-value",
        "error",
        "A value is tested that training never shows.",
        "A value of a component occurs in the test split and not in training.",
        "",
        "Add training rows with the value, or take its rows out of the test split.",
    ),
    Rule(
        "unseen-label",
        "error",
        "A label is tested that training never shows.",
        "A label of held-out combinations is that of no training row.",
        "",
        "Add training rows with the label, or take its rows out of the test split.",
    ),
    Rule(
        "not-solvable",
        "error",
        "No learner of this kind can answer the held-out combinations correctly.",
        "The held-out targets are not a sum of conjunctions of at most K components that "
        "training shows (numbers), or no such sum has the right sign or the largest output on "
        "all of them (labels). Of the variance of numbers, a share up to the threshold, or what "
        "the disagreement of repeated rows accounts for, may be left unexplained.",
        "unexplained",
        "Test another rule, raise the order, or use a learner that learns its features and check "
        "its predictions.",
    ),
    Rule(
        "not-determined",
        "error",
        "Training leaves open what should be predicted.",
        "The share of held-out combinations whose row of the constant and all conjunctions of "
        "at most K components lies in the row space of the training rows is below the threshold.",
        "determined",
        "Add the recommended combinations to training.",
    ),
    Rule(
        "at-chance",
        "error",
        "Labels are predicted no better than by guessing among them.",
        "Predicted balanced accuracy is at or below chance at every representation of the range.",
        "",
        "Hold out other combinations, or add training combinations that contradict the shortcut.",
    ),
    Rule(
        "no-better-than-constant",
        "error",
        "Numbers are predicted no better than by the mean of training.",
        "Predicted squared error is at or above that of the constant predictor at every "
        "representation of the range.",
        "",
        "Hold out other combinations, or add training combinations with the same values.",
    ),
    Rule(
        "shortcut",
        "warning",
        "A value or pair of values goes with other targets in test than in training.",
        "A label's share (or, for numbers, the mean target in standard deviations) differs "
        "between the training and the held-out combinations that have the value or pair by at "
        "least shortcut_effect (shortcut_effect_sd), and the corrected p-value is at most "
        "shortcut_p.",
        "shortcut_effect",
        "Balance the targets of its combinations between training and test.",
        ("shortcut_effect_sd", "shortcut_p"),
    ),
    Rule(
        "not-held-out",
        "warning",
        "Test rows repeat combinations that training has.",
        "The combination of a test row occurs in training.",
        "",
        "Take these rows out of the test split; no other number here counts them. Leave ordinary "
        "validation splits out of the test splits.",
    ),
    Rule(
        "strong-leak",
        "warning",
        "Much of what training shows is stored by combination and does not carry over.",
        "At the reference representation the slope of predicted on true held-out targets is "
        "below the threshold (with labels: outputs for right and wrong ones lie so many times as "
        "far apart as in training, and some are predicted wrong).",
        "leak_slope",
        "Show the values in more training combinations, or use a representation with a smaller "
        "share for the full combination.",
    ),
    Rule(
        "thin-coverage",
        "warning",
        "A tested value is met in few training combinations.",
        "A value of the held-out combinations occurs in training, in fewer distinct combinations "
        "than the threshold.",
        "coverage",
        "Add training combinations with the value.",
    ),
    Rule(
        "conflicting-duplicates",
        "warning",
        "Rows of the same combination have different targets.",
        "Rows of one combination, within training or within the held-out ones, differ in their "
        "targets.",
        "",
        "Check these rows; their weighted mean is used. Noise of repeated measurements is a reason "
        "to silence this rule.",
    ),
    Rule(
        "not-decided",
        "warning",
        "Whether the held-out targets can be answered at all, whether training determines "
        "them, or whether they are predicted better than by guessing, is not known.",
        "The search for an answer and for a proof that there is none, or the predictions over the "
        "range, were stopped by the time limit; or the computation of what training determines by "
        "its number of steps.",
        "",
        "Allow more time; or ask about a smaller order.",
    ),
)

RULES: Mapping[str, Rule] = MappingProxyType({rule.id: rule for rule in _TABLE})
"""The rules by id, errors first."""
