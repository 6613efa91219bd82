"""Results that are shipped with a package take the place of runs of the quick preset."""

from __future__ import annotations

import html
import sys

import pytest
import xarray as xr
from study_variants import PYTHON, TOML

from partwhole import study as frame
from partwhole._checks import InputError
from partwhole.study import evidence, report
from partwhole.study.evidence import better, stored
from partwhole.study.registry import load

# With four seeds the share is an illustration, with eight it is decided.
FEWER = PYTHON.replace("range(6)", "range(4)").replace("range(60)", "range(8)")
OTHER = FEWER.replace('config["seed"])', 'config["seed"] + 1)')


@pytest.fixture
def study(tmp_path, monkeypatch):
    folder = tmp_path / "some_studies" / "coins"
    folder.mkdir(parents=True)
    for place in (folder.parent, folder):
        (place / "__init__.py").write_text("")
    (folder / "tiny.py").write_text(FEWER)
    (folder / "tiny.toml").write_text(TOML.replace("longest[:3]", "longest[:5]"))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield load("some_studies.coins.tiny")
    for name in [name for name in sys.modules if name.startswith("some_studies")]:
        del sys.modules[name]


def run(study, preset, tmp_path):
    return frame.run(study, preset, store=tmp_path / "store", progress=False)


def test_a_stored_result_is_read_as_it_was(study, tmp_path):
    assert stored(study) is None
    result = run(study, "laptop", tmp_path)
    path = evidence.keep(result)
    assert path == tmp_path / "some_studies" / "stored" / "coins.tiny.nc.gz"
    again = stored(study)
    assert again is not None
    xr.testing.assert_equal(again.data, result.data)
    assert repr(again.findings) == repr(result.findings)
    assert (again.preset, again.data.attrs["outdated"]) == ("laptop", 0)
    assert again.data.attrs["seeds"] == "0-7"


def reported(study, tmp_path, **options):
    pages = report.write_report(
        [study], tmp_path / "out", store=tmp_path / "cells", progress=False, **options
    )
    return pages.results[0]


def test_the_report_shows_it_in_place_of_the_quick_preset(study, tmp_path):
    evidence.keep(run(study, "laptop", tmp_path))
    assert reported(study, tmp_path).preset == "laptop"
    assert not (tmp_path / "cells").exists()  # nothing was computed
    page = html.unescape((tmp_path / "out" / "studies" / "coins-tiny.html").read_text())
    assert "Stored laptop result of " in page
    assert "<code>partwhole run coins.tiny --preset laptop</code>" in page
    index = (tmp_path / "out" / "index.html").read_text()
    assert "1 study (1 of them from stored results) with the preset quick" in index
    paper = (tmp_path / "out" / "papers" / "bernoulli-1713.html").read_text()
    assert "<small>laptop, stored</small>" in paper


def test_the_report_runs_another_preset(study, tmp_path):
    evidence.keep(run(study, "laptop", tmp_path))
    result = reported(study, tmp_path, preset="laptop")
    assert ("stored" in result.data.attrs, result.computed) == (False, 16)


def test_one_that_decides_no_more_does_not_replace_a_run(study, tmp_path):
    quick = run(study, "quick", tmp_path)
    evidence.keep(quick)
    assert better(quick) is quick


@pytest.mark.parametrize(("name", "shown"), [("quick", "quick"), ("laptop", "laptop")])
def test_one_of_another_source_is_shown_only_if_it_decides_more(study, tmp_path, name, shown):
    evidence.keep(run(study, name, tmp_path))
    again = reported(changed(OTHER, tmp_path), tmp_path)
    assert again.preset == shown
    assert len([*(tmp_path / "cells").rglob("*.npz")]) == 8
    assert again.data.attrs.get("outdated", 0) == (shown == "laptop")


def changed(text, tmp_path):
    """Write another source for the study, and import it anew."""
    (tmp_path / "some_studies" / "coins" / "tiny.py").write_text(text)
    for name in [name for name in sys.modules if name.startswith("some_studies")]:
        del sys.modules[name]
    return load("some_studies.coins.tiny")


def test_a_result_of_another_source_says_so(study, tmp_path):
    evidence.keep(run(study, "laptop", tmp_path))
    again = stored(changed(OTHER, tmp_path))
    assert again is not None
    assert again.data.attrs["outdated"] == 1


def test_a_result_that_lacks_what_the_study_weighs_now_is_left_out(study, tmp_path):
    evidence.keep(run(study, "laptop", tmp_path))
    text = FEWER.replace('"share": np.', '"part": np.').replace('{"share": ""}', '{"part": ""}')
    text = text.replace('labels={"share"', 'labels={"part"').replace("data.share", "data.part")
    renamed = changed(text.replace('data["share"]', "data.part"), tmp_path)
    with pytest.raises(InputError, match=r"of an earlier source: AttributeError.*; compute it aga"):
        stored(renamed)
    quick = run(renamed, "quick", tmp_path)
    assert better(quick) is quick


def test_what_cannot_be_stored_or_read(study, tmp_path):
    import tiny_study

    result = frame.run(tiny_study, store=tmp_path / "store", progress=False)
    with pytest.raises(InputError, match="got tiny_study, a file of its own; use `save_figure`"):
        evidence.keep(result)
    path = evidence.keep(run(study, "quick", tmp_path))
    path.write_bytes(b"CDF")
    with pytest.raises(
        InputError, match=r"NetCDF file; got .*coins.tiny.nc.gz: .*; write it again"
    ):
        stored(study)
