"""Every refusal on the way in: one sentence of rule, got and remedy, each of its own."""

from __future__ import annotations

import pytest
from bad_cells import OF_CELLS
from bad_tables import OF_TABLES

from partwhole._checks import InputError

BAD = OF_TABLES | OF_CELLS


@pytest.mark.parametrize(("call", "sentence"), BAD.values(), ids=BAD)
def test_bad_input_is_refused_in_one_sentence(call, sentence, tmp_path):
    with pytest.raises(InputError) as caught:
        call(tmp_path)
    assert str(caught.value) == sentence


def test_every_sentence_is_its_own_and_has_three_parts():
    sentences = [sentence for _, sentence in BAD.values()]
    assert len(set(sentences)) == len(sentences) >= 40
    for sentence in sentences:
        rule, got, remedy = sentence.replace("a;b;y;s", "").split("; ")
        assert got.startswith("got ")
        assert rule
        assert remedy
