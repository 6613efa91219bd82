"""The rules of an audit: their meaning, the condition that breaks them, and the remedy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
    """Rule that a split has to keep.

    Parameters
    ----------
    id : str
        Stable: build servers and settings refer to it.
    severity : {"error", "warning", "note"}
        An error makes the split unsupported.
    meaning : str
        The problem when the rule is broken, in plain words.
    trigger : str
        The exact condition that breaks it.
    threshold : str
        The name of the threshold in the settings; empty without one.
    remedy : str
        The action to take.
    """

    id: str
    severity: Severity
    meaning: str
    trigger: str
    threshold: str
    remedy: str

    @door
    def in_force(self, settings: Settings) -> str:
        """Return the name and value of its threshold; empty without one.

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
        if not self.threshold:
            return ""
        return f"{self.threshold} = {getattr(settings, self.threshold):g}"


@dataclass(frozen=True, eq=False)
class Finding:
    """Violation of a rule.

    Parameters
    ----------
    rule : str
        The rule's id, a key of `RULES` or that of a rule of one's own.
    severity : {"error", "warning", "note"}
    message : str
        One or two sentences with numbers, names and the remedy.
    rows : int array, shape (r,)
        The rows of the table concerned, counted from 0.
    split : str
        The name of the test split, or of training.
    subject : str
        The value, pair or component concerned, such as ``shape = circle``; empty for the whole
        split.
    silenced : str or None
        The reason why it does not count; None when it counts.

    Examples
    --------
    >>> import pandas as pd
    >>> from partwhole import audit_split
    >>> frame = pd.DataFrame({"shape": [0, 0, 1, 1], "colour": [0, 1, 0, 1]})
    >>> frame["split"] = ["train", "train", "test", "test"]
    >>> finding = audit_split(frame, ["shape", "colour"], split="split").errors[0]
    >>> finding.rule, finding.subject, finding.rows.tolist()
    ('unseen-value', 'shape = 1', [2, 3])
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
        "A tested value occurs in no training row.",
        "A value of a component occurs in the test split and not in training, in more than the "
        "share unseen of the held-out rows; up to that share it is a warning.",
        "unseen",
        "Add training rows with the value, or remove its rows from the test split.",
    ),
    Rule(
        "unseen-label",
        "error",
        "A tested label occurs in no training row.",
        "A label of held-out combinations occurs in no training row; for a share of rows as above.",
        "unseen",
        "Add training rows with the label, or remove its rows from the test split.",
    ),
    Rule(
        "not-determined",
        "error",
        "Training leaves the answers to held-out combinations open.",
        "A held-out combination is determined when its row of the constant and all conjunctions "
        "(sets of values) of at most K components is a weighted sum of those of training rows. The "
        "share of determined combinations is below the threshold.",
        "determined",
        "Add the recommended combinations to training.",
    ),
    Rule(
        "not-solvable",
        "error",
        "No learner of this kind can answer the held-out combinations correctly.",
        "Numbers: no sum of numbers for conjunctions (sets of values) of at most K components "
        "that occur in training equals the held-out targets, apart from a share of their variance "
        "up to the threshold or up to the noise between repeated rows. Labels: no such sum has the "
        "correct sign or the largest output on all held-out combinations.",
        "unexplained",
        "Choose targets that such learners can give, raise the order, or train a network that "
        "learns its features and check its predictions.",
    ),
    Rule(
        "at-chance",
        "error",
        "Labels are predicted no better than by guessing among them.",
        "Predicted balanced accuracy is at or below chance at every representation of the range; "
        "if a representation was measured, at that one. Where the commonest label of each "
        "combination has no more, accuracy by rows is too.",
        "",
        "Hold out other combinations, or add training combinations in which the same values have "
        "other labels.",
    ),
    Rule(
        "no-better-than-constant",
        "error",
        "Numbers are predicted no better than by the mean of training.",
        "Predicted squared error is at or above that of the constant predictor at every "
        "representation of the range; if a representation was measured, at that one.",
        "",
        "Hold out other combinations, or add training combinations with the same values.",
    ),
    Rule(
        "shortcut",
        "warning",
        "A component alone, or two or three together, predict targets in training, not in test.",
        "The most probable label of each value is correct in training more often than the "
        "commonest label, by at least shortcut_effect, and in test keeps less than half of that "
        "gain. Values of two or three components have to predict more than those of fewer, by "
        "as much. Numbers: the mean of each value explains at least shortcut_effect of the "
        "variance in training, and in test targets rise by less than half of what it predicts; two "
        "numbers are judged as labels, too. Several components have to fail in test by more than "
        "where as many combinations are held out at random. "
        "Training rows are predicted from the others, and labels weighted to their shares in "
        "test. Copies of a row do not predict it: rows of the same combination and target, if "
        "they are so many that values which meet by chance do not explain it, and no component "
        "is the target. Where test has a single label, or its values predict labels that it "
        "lacks, or rows with these values are predicted better, accuracy in training is that of "
        "these; where predictions of a component do not vary in test, or it has fewer than three "
        "rows, differences from the mean of training are compared. Rows of test are the held-out "
        "ones if these are half of it or more, else all. Of four components and more, threes are "
        "looked at if there are at most five million of them times rows.",
        "shortcut_effect",
        "Show these values with other targets in training.",
    ),
    Rule(
        "spurious-correlation",
        "warning",
        "A component predicts the targets in training and in test, though the others suffice.",
        "A component alone predicts targets as for a shortcut, and in test too; but the other "
        "components predict those of training as well without it, by rows and with each "
        "combination counted once. So the test cannot show whether a learner relies on it. "
        "Reported only where training and test have values, pairs and combinations in the same "
        "shares.",
        "shortcut_effect",
        "Test on rows in which the component and the target are not correlated.",
    ),
    Rule(
        "group-imbalance",
        "warning",
        "Training has few rows of a tested group.",
        "A component predicts the targets though the others suffice, and the rows with one of its "
        "values and one label are fewer than group_share of those expected if the two were "
        "independent.",
        "group_share",
        "Add training rows of the group, or give them larger weights.",
    ),
    Rule(
        "not-held-out",
        "warning",
        "Test rows repeat combinations of training.",
        "The combination of a test row also occurs in training.",
        "",
        "Report rows with seen and with unseen combinations apart. Leave ordinary validation "
        "splits out of the test splits.",
    ),
    Rule(
        "strong-leak",
        "warning",
        "Much of what is learned is memorised for single training combinations and does not carry "
        "over.",
        "At the reference representation, the slope of predicted on true held-out targets is "
        "below the threshold. Labels: the slope compares the distance between the outputs for "
        "correct and wrong labels with that in training, and some labels are predicted wrong; for "
        "a readout of noisy features, the gain of balanced accuracy over guessing is below that "
        "share of the possible one.",
        "leak_slope",
        "Show the values in more training combinations, or use a representation in which inputs "
        "with common parts are more alike.",
    ),
    Rule(
        "failed-value",
        "warning",
        "All tested combinations of a value are predicted wrong.",
        "At the reference representation no held-out row with the value, which training has, is "
        "predicted its label; with noise, no held-out combination by its mean answer.",
        "",
        "Add training combinations with the value and other labels.",
    ),
    Rule(
        "salience-limit",
        "warning",
        "Tested labels are predicted right only in a narrow range of saliences of a component.",
        "All held-out labels are predicted right by least squares and by the largest margin, on "
        "one hidden ReLU layer and with a Gaussian kernel; but not all of them if one component is "
        "made more or less salient by a factor up to the threshold.",
        "salience",
        "Show its values with other labels in training, or check the salience of your own "
        "representation with features.",
    ),
    Rule(
        "thin-coverage",
        "warning",
        "A tested value occurs in few training combinations.",
        "A value of the held-out combinations occurs in training, but in fewer distinct "
        "combinations than the threshold.",
        "coverage",
        "Add training combinations with the value.",
    ),
    Rule(
        "conflicting-duplicates",
        "warning",
        "Rows of the same combination have different targets.",
        "Rows of one combination, within training or within the test split, differ in their "
        "targets, and no noise is given or estimated. Or a column that is no component explains "
        "the differences: less than a tenth of their variance is left.",
        "",
        "Check these rows; the audit uses their weighted mean. If they are repeated noisy "
        "measurements, pass their noise, or silence this rule with that reason. Name a column that "
        "explains the differences among the components.",
    ),
    Rule(
        "not-decided",
        "error",
        "It is not known whether the held-out targets can be answered at all, whether training "
        "determines them, whether they are predicted better than by guessing, or whether there are "
        "shortcuts.",
        "The time limit ended the search for an answer or for a proof that none exists; or the "
        "limit on steps ended the computation of what training determines. If only predictions "
        "over the range, or the search for shortcuts, did not finish, it is a warning.",
        "",
        "Raise the time limit, or choose a smaller order.",
    ),
)

RULES: Mapping[str, Rule] = MappingProxyType({rule.id: rule for rule in _TABLE})
"""The rules by id, errors first."""


def rules_of(findings: Iterable[Finding]) -> dict[str, Rule]:
    """Return all rules, and one for each further id among findings: rules of one's own."""
    others = {
        finding.rule: Rule(finding.rule, finding.severity, "A rule of your own.", "", "", "")
        for finding in findings
        if finding.rule not in RULES
    }
    return {**RULES, **others}
