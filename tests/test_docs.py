"""What the documents point to is there, and pages and pictures show what is computed."""

from __future__ import annotations

import ast
import doctest
import importlib.util
import inspect
import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import partwhole
from partwhole import __version__, networks, tasks, training
from partwhole.audit import Settings
from partwhole.audit.outputs import machine
from partwhole.audit.rules import RULES
from partwhole.cli import command
from partwhole.cli.cite import BIBTEX
from partwhole.limits.random_splits import dimensions
from partwhole.study.pages.parts import paper_file
from partwhole.study.papers import registered_papers
from partwhole_studies.overlap import random_splits

ROOT = Path(__file__).parents[1]


PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "studies/README.md"]


def headings(page: Path) -> set[str]:
    """Return the anchors of a page's headings."""
    lines = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", line).lower().replace(" ", "-") for line in lines}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_between_files_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)]+)", page.read_text("utf-8")):
        if "://" not in link:
            name, _, anchor = link.partition("#")
            target = page.parent / name if name else page
            assert target.exists(), link
            assert not anchor or anchor in headings(target), link


def test_every_page_is_linked_from_the_readme_or_a_page_that_it_links():
    def linked(page: Path) -> set[Path]:
        names = re.findall(r"\]\(([^)#:]+\.md)", page.read_text("utf-8"))
        return {(page.parent / name).resolve() for name in names}

    near = linked(ROOT / "README.md")
    assert set((ROOT / "docs").glob("*.md")) <= near.union(*map(linked, near))


def test_every_page_with_examples_is_run():
    """But for those of torch, which run on torch."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    run = set(project["tool"]["pytest"]["ini_options"]["testpaths"])
    pages = {page.relative_to(ROOT).as_posix() for page in PAGES if ">>> " in page.read_text()}
    assert pages - run == {"docs/torch.md"}


EXAMPLES = sorted(ROOT.glob("docs/gallery/*/plot_*.py"))


def words(example: Path) -> list[str]:
    """Return the paragraphs before the code of an example, the title first."""
    return (ast.get_docstring(ast.parse(example.read_text("utf-8"))) or "").split("\n\n")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_an_example_is_a_question_in_forty_lines_with_a_picture_in_words(example):
    title, line = words(example)[0].split("\n")
    assert title.endswith("?")
    assert line == "=" * len(title)
    assert len(example.read_text("utf-8").splitlines()) <= 40
    # The text alternative of the picture.
    assert words(example)[-1].startswith("The picture shows ")


def test_the_gallery_has_sections_with_examples_that_differ_in_name_and_question():
    assert 25 <= len(EXAMPLES) <= 40
    # Of the names come those of pages, pictures and thumbnails.
    assert len({example.stem for example in EXAMPLES}) == len(EXAMPLES)
    assert len({words(example)[0] for example in EXAMPLES}) == len(EXAMPLES)
    assert {page.parent for page in ROOT.glob("docs/gallery/*/README.rst")} == {
        example.parent for example in EXAMPLES
    }


def script(name):
    """Return a script of docs/ as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f"docs/{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_papers_of_the_report_and_chapters_are_linked_both_ways(tmp_path, monkeypatch):
    module = script("site")
    chapters = {chapter for several in module.CHAPTERS.values() for chapter in several}
    assert all((ROOT / f"docs/{chapter}.md").is_file() for chapter in chapters)
    names = {paper_file(paper.name) for paper in registered_papers()}
    assert {f"papers/{name}.html" for name in module.CHAPTERS} == names
    monkeypatch.setattr(module, "REPORT", tmp_path / "report")
    texts = {f"{chapter}.md": f"# On {chapter}\n" for chapter in chapters}
    plain = dict(texts)
    module.add_papers(texts, tmp_path / "copied")
    assert texts == {**plain, "papers.md": texts["papers.md"]}
    assert "`make report` writes these pages" in texts["papers.md"]
    for path in ("index.html", "store/cell.nc", *names):
        (tmp_path / "report" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "report" / path).write_text(
            "<h1 class='x'>A &amp; B</h1><nav><ul><li>Findings</li></ul></nav><ul></ul>"
        )
    module.add_papers(texts, tmp_path / "copied")
    assert not (tmp_path / "copied/store").exists()
    assert texts["papers.md"].count("A &amp; B</a>; in the guide: [On ") == len(names)
    reuse = (tmp_path / "copied/papers/lippl-lindsey-neurips-2024.html").read_text()
    assert '<li>Findings</li><li><a href="../../reuse.html">On reuse</a></li></ul></nav>' in reuse
    assert texts["reuse.md"].endswith(
        'Item by item: <a href="report/papers/lippl-lindsey-neurips-2024.html">A &amp; B</a>.\n'
    )


def test_links_of_the_site_that_lead_nowhere_are_found(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "a b.html").write_text("<h1 id='top'>A</h1>")
    (tmp_path / "ledger.html").write_text("")
    links = {
        "../a%20b.html": True, "../a%20b.html?v=1#top": True, "../a%20b.html#end": False,
        "#here": True, "#there": False, "missing.css": False, "https://example.org/x": True,
        "data:,": True, "../ledger.html#search=x": True, "../a%20b.html#search=x": False,
    }  # fmt: skip
    text = "".join(f'<a id="here" href="{target}">' for target in links)
    (tmp_path / "deep/page.html").write_text(text)
    wrong = sorted(f"deep/page.html: {target}" for target, leads in links.items() if not leads)
    assert script("links").broken(tmp_path) == wrong


def test_the_first_picture_lies_on_the_line_of_the_theory():
    module = script("first_result")
    scatter = module.draw().axes[1]
    right, theory, found = scatter.lines
    np.testing.assert_array_equal(found.get_xdata(), np.arange(-8, 9))
    np.testing.assert_allclose(found.get_ydata(), found.get_xdata() * 2 / 3, atol=1e-9)
    np.testing.assert_allclose(theory.get_ydata(), theory.get_xdata() * 2 / 3)
    np.testing.assert_array_equal(right.get_ydata(), right.get_xdata())
    assert (ROOT / "docs/first-result.svg").read_text("utf-8").startswith("<?xml")


def test_the_costs_of_paper_presets_are_those_of_their_settings():
    module = script("paper_presets")
    assert module.table() in (ROOT / "docs/paper-presets.md").read_text("utf-8")
    # As counted when these presets were planned.
    assert "| concept_diffusion | 30 | 6.8e5 | 2.8e17 | 1.4 | 0.5 |" in module.table()


def test_the_tables_of_new_results_are_those_of_the_stored_studies():
    module, page = script("new_results"), (ROOT / "docs/new-results.md").read_text("utf-8")
    for name, table in module.TABLES.items():
        assert f"<!-- {name} -->\n{table()}<!-- end of {name} -->" in page


@pytest.mark.parametrize("learner", [random_splits.THREE, random_splits.PAIRS])
def test_the_power_of_the_scatter_is_that_of_the_tables(learner):
    module, study = script("new_results"), random_splits
    data = module.stored(study).data
    of = data.crossing.sel(learner=learner).dropna("values", how="all")
    n_components, order = study.LEARNERS[learner]
    sizes = [dimensions((int(n),) * n_components, order) for n in of["values"]]
    normal = np.random.default_rng(0).normal(size=of.sizes["seed"])
    tables = 0.9 + np.array(sizes)[:, None] ** -0.7 * normal
    known = data.copy(deep=True)
    place = {"learner": learner, "values": of["values"]}
    known.crossing.loc[place] = tables.T if of.dims[0] == "seed" else tables
    power = module.scatter(known, learner)
    # All numbers of values have the same tables but for their scale: no error is left.
    assert (power.value, power.low, power.high) == pytest.approx((-0.7,) * 3, abs=1e-9)
    assert power.n == of.sizes["seed"]


def test_the_comparison_in_the_page_on_dynamics_is_the_computed_one():
    identity = tasks.StructuredIdentity(means=[2, 4], scales=[0.2, 0.2], origin=True)
    deep = networks.Architecture(layers=4, width=4).networks(2, seeds=range(24))
    rule = training.Training.published("identity", learning_rate=0.005)
    comparison = training.beside_theory(training.train(deep, identity, rule)).describe()
    printed = re.search(
        r"```text\n(4-layer.*?)```", (ROOT / "docs/dynamics.md").read_text("utf-8"), re.DOTALL
    )
    assert printed
    words, numbers = r"[^\d.]+", r"\d+\.?\d*"
    assert re.findall(words, printed[1].strip()) == re.findall(words, comparison)
    # Single precision: machines may differ in the last digit printed.
    left, right = (
        [float(number) for number in re.findall(numbers, text)] for text in (printed[1], comparison)
    )
    np.testing.assert_allclose(left, right, rtol=0.02)


def test_the_command_in_the_page_on_recordings_prints_what_it_shows(tmp_path, monkeypatch, capsys):
    page = (ROOT / "docs/your-recording.md").read_text("utf-8")
    (line,) = re.findall(r"```sh\npartwhole (.*)\n```", page)
    (shown,) = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    before = doctest.DocTestParser().get_examples(page[: page.index("```sh")])
    exec("".join(example.source for example in before), {})
    command.main(line.split())
    printed = capsys.readouterr().out
    assert printed.split("HTML:")[0].strip() == shown.strip()
    assert (tmp_path / "page.html").read_text("utf-8").startswith("<!doctype html>")
    assert len((tmp_path / "rows.csv").read_text("utf-8").splitlines()) == 17


@pytest.mark.slow  # trains the diffusion model of the page
def test_the_model_in_the_page_on_images_learns_colour_and_texture_before_shape():
    module = script("your_images")
    variables = module.run()
    disc, *others = variables["path"].means[0, -1]
    # Of 64 samples; the page shows .65 beside 1 and 1.
    assert min(others) > 0.9 > disc
    assert len(module.draw(variables).axes) == 3


def test_versions_agree():
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    (newest, date), *_ = re.findall(r"^## \[([\d.]+)\] - ([\d-]+)$", changelog, flags=re.MULTILINE)
    assert newest == __version__
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {__version__}\ndate-released: {date}\n" in citation


def test_the_page_of_rules_has_each_rule_as_the_command_prints_it():
    page = (ROOT / "docs/rules.md").read_text("utf-8")
    assert re.findall(r"^## `(.+)`$", page, flags=re.MULTILINE) == list(RULES)
    sections = re.split(r"^## .*$", page, flags=re.MULTILINE)[1:]
    for section, rule in zip(sections, RULES.values(), strict=True):
        words = " ".join(section.split())
        assert words.startswith(f"{rule.severity.capitalize()}. {rule.meaning} {rule.trigger}")
        assert f"`{rule.in_force(Settings())}`" in words or not rule.threshold
        assert words.endswith(f"**What to do.** {rule.remedy}")
        assert f'"{rule.id}"' in section


def test_the_page_of_citations_is_what_the_command_prints_and_the_file_names():
    page = (ROOT / "docs/cite.md").read_text("utf-8")
    assert re.findall(r"```bibtex\n(.*?)\n```", page, flags=re.DOTALL) == [BIBTEX]
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    prints = re.findall(r"eprint +\= \{(.+)\}", BIBTEX)
    assert prints == re.findall(r"value: arXiv:(.+)", citation)


def stable(first: str) -> list[str]:
    """Return the code in the first cell of a row of the page of stable names, by how it begins."""
    page = (ROOT / "docs/stability.md").read_text("utf-8")
    (row,) = re.findall(rf"^\| ({re.escape(first)}[^|]*)\|", page, flags=re.MULTILINE)
    return re.findall(r"`([^`]+)`", row)


def test_the_stable_verbs_are_those_of_the_face():
    verbs = {name for name in partwhole.__all__ if inspect.isfunction(getattr(partwhole, name))}
    assert {name.removeprefix("partwhole.") for name in stable("`partwhole.audit_split`")} == verbs


def test_the_stable_commands_and_exit_codes_are_those_of_the_command(capsys):
    with pytest.raises(SystemExit):
        command.main(["--help"])
    usage = re.search(r"\{([\w,]+)\}", capsys.readouterr().out)
    assert usage
    assert {f"partwhole {name}" for name in usage[1].split(",")} == {*stable("`partwhole atlas`")}
    page = (ROOT / "docs/stability.md").read_text("utf-8")
    codes = {int(code) for code in re.findall(r"^\| (\d+) \|", page, flags=re.MULTILINE)}
    assert codes == {0, 1, command.BAD_INPUT, command.OWN_FAILURE, 130, command.READER_LEFT}
    assert f"`schema`, now {machine.SCHEMA}:" in page


def test_the_supported_pythons_are_those_that_are_tested():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    before = "Programming Language :: Python :: 3."
    named = [each for each in project["classifiers"] if each.startswith(before)]
    versions = [name.removeprefix("Programming Language :: Python :: ") for name in named]
    assert project["requires-python"] == f">={versions[0]}"
    assert f"| Python | {', '.join(versions)} |" in (ROOT / "docs/stability.md").read_text("utf-8")
    workflow = (ROOT / ".github/workflows/ci.yml").read_text("utf-8")
    assert f"python: {json.dumps(versions)}" in workflow


def test_the_locks_pin_every_package_with_its_hashes_and_name_no_index():
    for path in (ROOT / "requirements").glob("*.lock"):
        held = re.sub(r"^#.*\n", "", path.read_text("utf-8"), flags=re.MULTILINE)
        pinned = r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+]+( \\\n    --hash=sha256:[0-9a-f]{64})+\n"
        assert len(re.findall(pinned, held)) > 20
        assert re.sub(pinned, "", held) == "", path


def test_set_up_compares_the_hashes_of_the_locks():
    lines = (ROOT / "Makefile").read_text("utf-8").splitlines()
    installs = [line for line in lines if "$(PIP)" in line and ".lock" in line]
    assert len(installs) == 3
    assert all("--require-hashes" in line for line in installs)


NEVER_REFUSE = {"partwhole.study.key"}  # draws what the axes hold


def public_members() -> dict[str, object]:
    """Return what has a page in the reference, by name."""
    site = script("site")
    members: dict[str, object] = {}
    for room in site.rooms():
        face = importlib.import_module(room)
        members |= {f"{room}.{name}": getattr(face, name) for name in face.__all__}
    return members


def test_every_page_of_the_reference_has_an_example_and_says_what_is_refused():
    without: list[str] = []
    for name, member in public_members().items():
        if inspect.isclass(member) and not issubclass(member, BaseException):
            below = (inspect.getdoc(part) for part in vars(member).values() if callable(part))
            words = [inspect.getdoc(member), *below]
        elif inspect.isfunction(member):
            words = [inspect.getdoc(member)]
            takes = inspect.signature(member).parameters
            if takes and name not in NEVER_REFUSE and "\nRaises\n" not in (words[0] or ""):
                without.append(f"{name}: Raises")
        else:
            continue
        if not any("\nExamples\n" in (text or "") for text in words):
            without.append(f"{name}: Examples")
    assert without == []
