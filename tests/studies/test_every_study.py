"""What all registered studies keep to together; each has a test of its own beside."""

from __future__ import annotations

from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest

from partwhole.study import registry
from partwhole.study.declaration import items_of, read
from partwhole.study.papers import registered_papers

HERE = Path(__file__).parent
MOST_CLAIMS, MOST_HEADLINES, MOST_OF_A_STUDY = 183, 12, 4
MOST_WORDS = {"question": 18, "answer": 34, "caption": 27, "says": 16, "note": 40, "headline": 20}


def files() -> dict[str, Path]:
    """Return the module of each registered study that declares its claims."""
    specs = {name: find_spec(module) for name, module in registry.registered().items()}
    paths = {name: Path(spec.origin or "") for name, spec in specs.items() if spec}
    return {name: path for name, path in paths.items() if path.with_suffix(".toml").exists()}


@pytest.fixture(scope="module")
def declarations():
    return {name: read(path.with_suffix(".toml")) for name, path in files().items()}


def test_each_has_a_test_of_its_own():
    for name in registry.registered():
        folder, _, last = name.rpartition(".")
        assert (HERE / folder / f"test_{last}.py").is_file(), name


def test_none_makes_a_claim_twice(declarations):
    claims = [claim for declaration in declarations.values() for claim in declaration.claims]
    twice = [says for says, n in Counter(claim.says for claim in claims).items() if n > 1]
    assert not twice
    assert len(claims) <= MOST_CLAIMS


def test_the_index_has_room_for_the_headlines(declarations):
    claims = [claim for declaration in declarations.values() for claim in declaration.claims]
    assert sum(bool(claim.headline) for claim in claims) <= MOST_HEADLINES


def test_what_they_are_about_is_in_the_papers(declarations):
    items = {paper.name: dict(paper.items) for paper in registered_papers()}
    for name, declaration in declarations.items():
        for text in declaration.items:
            assert {*items_of(text)} <= {*items[declaration.paper]}, (name, text)
        for claim in declaration.claims:
            known = {*items[claim.paper or declaration.paper]} if claim.item else set()
            assert not claim.item or {*items_of(claim.item)} <= known, (name, claim.item)


def test_no_study_says_more_than_a_reader_takes_in(declarations):
    for name, declaration in declarations.items():
        assert len(declaration.claims) <= MOST_OF_A_STUDY, name
        for text in (declaration, *declaration.claims):
            for field, most in MOST_WORDS.items():
                words = str(getattr(text, field, "")).split()
                assert len(words) <= most, (name, field, " ".join(words))
        for check in declaration.checks:
            assert len(check.says.split()) <= 12, (name, check.says)


def test_every_answer_is_computed(declarations):
    for name, declaration in declarations.items():
        assert "{" in declaration.answer, name
