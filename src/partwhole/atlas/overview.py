"""The overview of an atlas: splits ranked by the support that training gives to their tests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from partwhole import __version__
from partwhole.atlas.benchmark import Benchmark
from partwhole.atlas.text import at_order, left_open
from partwhole.atlas.verdict import FILES, Verdict, ranked
from partwhole.audit.page.words import share
from partwhole.audit.wording import count, percent, printable
from partwhole.page import Html, join, page, section, table, tag

# Quantiles of the normal distribution: 95 % confidence of two sides, and power of 80 %.
CONFIDENCE, POWER = 1.959964, 0.841621
CORRELATIONS = (0.3, 0.5, 0.7)
# Behind the name of a split whose files could not be read; its page is then "".
STORED_ONE = " (stored verdict; your files could not be read)"
LEVELS = (
    ("three", "also if three parts interact"),
    ("two", "also if pairs interact"),
    ("one", "if parts add up"),
    ("undecided", "not decided"),
    ("open", "left open by training"),
)


def to_html(
    verdicts: Sequence[Verdict],
    benchmarks: Sequence[Benchmark],
    *,
    pages: Mapping[str, str],
    refused: Mapping[str, str],
) -> str:
    """Return the overview as one HTML file.

    Parameters
    ----------
    verdicts : sequence of Verdict
    benchmarks : sequence of Benchmark
        Whose files are described.
    pages : mapping of str to str, keyword-only
        The page of each split that has one, by the split's name.
    refused : mapping of str to str, keyword-only
        The splits that could not be read, with the reason. Their stored verdicts are marked.

    Returns
    -------
    str
    """
    order = ranked(verdicts)
    pages = {**pages, **dict.fromkeys(refused, "")}
    with_new = [verdict for verdict in order if verdict.held_out]
    without = [verdict for verdict in order if not verdict.held_out]
    return page(
        "Atlas of published splits",
        header=join(tag("h1", "Atlas of published splits"), _answer(with_new)),
        nav=tag(
            "ol",
            [
                tag("li", tag("a", words, href=f"#{anchor}"))
                for anchor, words in (
                    ("support", "Splits by the support of training"),
                    ("shortcuts", "Shortcuts"),
                    ("scores", "Comparing with published scores"),
                    ("files", "Benchmarks and their files"),
                    ("origin", "Where the verdicts come from"),
                )
            ],
        ),
        main=join(
            section("support", "Splits by the support of training", _support(with_new, pages)),
            section("shortcuts", "Shortcuts", _shortcuts(order, pages), _without(without, pages)),
            section("scores", "Comparing with published scores", _scores(with_new)),
            section("files", "Benchmarks and their files", _files(benchmarks), _refused(refused)),
            section("origin", "Where the verdicts come from", _origin(order)),
        ),
        footer=tag(
            "p",
            f"Made by partwhole {__version__}. This page loads nothing from the network.",
        ),
        style=Path(__file__).with_name("atlas.css").read_text("utf-8"),
    )


def _answer(verdicts: Sequence[Verdict]) -> Html:
    sums = sum(verdict.determined[0] == 1.0 for verdict in verdicts)
    pairs = sum(verdict.determined[1] == 1.0 for verdict in verdicts)
    lacking = sum(verdict.unseen > 0 for verdict in verdicts)
    return join(
        tag(
            "p",
            f"In {sums} of {count(len(verdicts), 'test split')} training determines every held-out "
            f"combination if parts add up, in {pairs} also if pairs of parts interact. "
            f"In {lacking} the test has values that training never has in that component.",
            class_="answer",
        ),
        tag(
            "p",
            "A held-out combination is determined if all learners of a kind that fit training give "
            "the same answer to it: learners whose outputs add up the parts, or those in which "
            "pairs of parts interact. This is computed, not measured: nothing is trained. A "
            "network that learns its own features is of no such kind, and may do better or worse.",
            class_="lead",
        ),
    )


def _support(verdicts: Sequence[Verdict], pages: Mapping[str, str]) -> Html:
    rows = []
    for i, verdict in enumerate(verdicts, 1):
        rows.append(
            (
                join(f"{i}. ", _name(verdict, pages)),
                _bar(verdict),
                at_order(verdict, 1, share),
                at_order(verdict, 2, share),
                left_open(verdict, share),
                _right(verdict),
            )
        )
    return join(
        tag(
            "p",
            "First the splits in which training determines least; what was not decided in the time "
            "counts as not determined. The verdict depends on the components: a learner for which "
            "a word is the same at all places is another one. Splits of few components and of "
            "many are not equally hard. Each bar is all held-out combinations, by what training "
            "determines:",
        ),
        tag(
            "ul",
            [tag("li", tag("i", class_=style), words) for style, words in LEVELS],
            class_="keys",
        ),
        table(
            (
                "Split and test",
                "What training determines",
                "If parts add up",
                "If pairs interact",
                "Test left open",
                "Answers are right",
            ),
            rows,
            caption="Held-out combinations, and the part of the test that even a sum of parts "
            "leaves open.",
            numbers=(2, 3, 4),
        ),
        tag(
            "p",
            "An item of the test is left open if training leaves one of its combinations open, "
            "even if parts add up. The last column is for splits of which nothing is left open: it "
            "says for which learners all determined answers are the right ones. It is blank where "
            "the target is a component, and where there is none.",
            class_="quiet",
        ),
    )


def _right(verdict: Verdict) -> str:
    """Say at which order all answers are determined and right."""
    # A component that is the target is a sum of parts by itself.
    if not set(verdict.target) - set(verdict.components) or verdict.determined[0] < 1.0:
        return "–"
    order = verdict.supported_at
    if order is not None:
        return {1: "if parts add up", 2: "if pairs interact"}.get(order, f"if {order} interact")
    last = verdict.steps[-1]
    whole = [step for step in verdict.steps if step.determined == verdict.held_out]
    is_wrong = all(step.solvable is False for step in whole)
    # At higher orders less is determined, so that none of them determines all.
    ends = not last.undecided and last.determined < verdict.held_out
    return "at no order" if is_wrong and ends else "not decided"


def _name(verdict: Verdict, pages: Mapping[str, str]) -> Html:
    place = pages.get(verdict.split)
    name = tag("a", verdict.split, href=place) if place else join(verdict.split)
    return join(
        name,
        f", {printable(verdict.test)}" if verdict.test != "test" else None,
        STORED_ONE if place == "" else None,
    )


def _bar(verdict: Verdict) -> Html:
    """Return a bar of the levels of a split."""
    sums, pairs, triples = verdict.determined
    first = next((step for step in verdict.steps if step.order == 1), None)
    undecided = first.undecided / verdict.held_out if first else 0.0
    parts = (triples, pairs - triples, sums - pairs, undecided, 1.0 - sums - undecided)
    words = ", ".join(
        f"{percent(part)} {meaning}"
        for part, (_, meaning) in zip(parts, LEVELS, strict=True)
        if part > 0.0
    )
    x, spans = 0.0, []
    for part, (style, _) in zip(parts, LEVELS, strict=True):
        if part > 0.0:
            spans.append(
                tag("rect", class_=style, x=f"{x:.2f}", y=0, width=f"{100 * part:.2f}", height=12)
            )
        x += 100 * part
    return tag(
        "svg",
        tag("title", words),
        spans,
        class_="levels",
        viewBox="0 0 100 12",
        preserveAspectRatio="none",
        role="img",
        aria_label=words,
    )


def _shortcuts(verdicts: Sequence[Verdict], pages: Mapping[str, str]) -> Html:
    rows = [
        (
            verdict.split + STORED_ONE * (pages.get(verdict.split) == ""),
            verdict.test,
            printable(sentence, 400),
        )
        for verdict in verdicts
        for sentence in verdict.shortcuts
    ]
    if not rows:
        return tag("p", "No single component or pair predicts training and misleads in test.")
    return table(
        ("Split", "Test", "What alone predicts training, and misleads in test"),
        rows,
        caption="At most three for each test split, the strongest first.",
    )


def _without(verdicts: Sequence[Verdict], pages: Mapping[str, str]) -> Html | None:
    if not verdicts:
        return None
    names = join(
        [join(", " if i else None, _name(verdict, pages)) for i, verdict in enumerate(verdicts)]
    )
    return tag(
        "p",
        "Nothing is held out in ",
        names,
        ": training has every combination of the test.",
    )


def splits_needed(correlation: float) -> int:
    """Return the number of independent splits that show a rank correlation.

    A test of two sides at 5 % then finds it with a probability of 80 %. From Fisher's
    transformation, with variance 1 / (n - 3) without a correlation, and for ranks with one that of
    Bonett and Wright (Psychometrika 2000), larger by a factor of 1 + correlation**2 / 2.

    Examples
    --------
    >>> splits_needed(0.5), splits_needed(0.7)
    (30, 15)
    """
    deviation = math.sqrt(1 + correlation**2 / 2)
    return math.ceil(3 + ((CONFIDENCE + POWER * deviation) / math.atanh(correlation)) ** 2)


def _scores(verdicts: Sequence[Verdict]) -> Html:
    families = len({verdict.title for verdict in verdicts})
    needed = "; ".join(f"{rho} needs {splits_needed(rho)}" for rho in CORRELATIONS)
    return join(
        tag(
            "p",
            f"This page has {count(len(verdicts), 'test split')} of {families} benchmarks. To say "
            "whether support by training goes with published scores takes:",
        ),
        tag(
            "ul",
            tag(
                "li",
                "Enough splits. A rank correlation is found with a probability of 80 %, at 5 %, "
                f"from so many independent splits: a correlation of {needed} (Fisher's "
                "transformation, variance of Bonett and Wright 2000). Splits of one benchmark are "
                "not independent of each other: count benchmarks, or take them as groups.",
            ),
            tag(
                "li",
                "Scores of one kind: the same learner, trained from nothing, on the published "
                "split, in the unit of the score. A pretrained learner has seen other combinations "
                "than those of training.",
            ),
            tag(
                "li",
                "Better than scores: the answers to every test item. Then determined and open "
                "items of one split are compared with each other, at the same training: with 100 "
                "independent items of each kind a difference between 50 % and 70 % is found with a "
                "probability of about 80 %.",
            ),
            tag(
                "li",
                "The same components for learner and audit: a learner that receives images or "
                "words has a representation of its own, and its similarities can be audited in "
                "place of the columns (",
                tag("code", "features"),
                " of ",
                tag("code", "audit_split"),
                ").",
            ),
        ),
    )


def _files(benchmarks: Sequence[Benchmark]) -> Html:
    return table(
        ("Benchmark", "What it asks", "Files"),
        [
            (
                join(tag("b", benchmark.title), f" ({benchmark.source})"),
                benchmark.asks,
                benchmark.files,
            )
            for benchmark in benchmarks
        ],
        caption="Files are read from a folder of yours, as published. Nothing is downloaded.",
    )


def _refused(refused: Mapping[str, str]) -> Html | None:
    if not refused:
        return None
    return join(
        tag("p", "Files that could not be read:"),
        tag(
            "ul", [tag("li", f"{name}: {printable(words, 400)}") for name, words in refused.items()]
        ),
    )


def _origin(verdicts: Sequence[Verdict]) -> Html:
    entries: dict[tuple[str, ...], Verdict] = {}
    for verdict in verdicts:
        entries.setdefault((verdict.split, verdict.table), verdict)
    return table(
        ("Split", "Components", "Asked", "Rows", "Computed", "Fingerprint of the rows"),
        [
            (
                verdict.split,
                ", ".join(verdict.components),
                ", ".join(verdict.target) or "nothing",
                verdict.origin if verdict.origin != FILES else "from the published files",
                f"{verdict.date}, partwhole {verdict.version}, {verdict.seconds:g} s",
                tag("code", verdict.table),
            )
            for verdict in entries.values()
        ],
        caption="The fingerprint does not depend on the order of rows.",
    )
