"""What an installation without extras can do, and what it says of the rest."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from partwhole._extras import EXTRAS, INSTALLED_AS

ROOT = Path(__file__).parents[1]
# Without torch, for which others look among the modules that are imported.
HEAVY = sorted({name for names in EXTRAS.values() for name in names} - {"torch"})
WITHOUT = f"import sys; sys.modules.update(dict.fromkeys({HEAVY}))\n"
BASE = (
    "tasks",
    "recordings",
    "features",
    "limits",
    "measures",
    "audit",
    "comparison",
    "store",
    "page",
    "cli",
)


def run(code: str) -> subprocess.CompletedProcess[str]:
    """Run code as if the packages of all extras were not installed."""
    command = [sys.executable, "-c", WITHOUT + code]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_the_rooms_of_the_base_need_no_extra():
    code = f"""
from importlib import import_module
from pkgutil import walk_packages
for room in {BASE}:
    package = import_module("partwhole." + room)
    for name in getattr(package, "__all__", ()):
        getattr(package, name)
    for module in walk_packages(getattr(package, "__path__", ()), package.__name__ + "."):
        import_module(module.name)
"""
    done = run(code)
    assert (done.returncode, done.stderr) == (0, "")


USES = {
    "import partwhole.flows": ("partwhole.flows", "train", "jax, equinox, optax, diffrax"),
    "import partwhole as pw; pw.networks": ("partwhole.networks", "train", "jax"),
    "from partwhole.training import train_dense": ("partwhole.training", "train", "jax"),
    "from partwhole import recommend": ("partwhole.recommendation", "train", "jax"),
    "from partwhole.study import run": ("partwhole.study.run", "plot", "matplotlib, xarray"),
    "from partwhole.explorer.server import Explorer; Explorer()": (
        "partwhole explore", "explore", "jax",
    ),
    "from partwhole.tasks.images.digits import digit_images; digit_images()": (
        "partwhole.tasks.digit_images", "digits", "scikit-learn",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def sentences():
    """Return the last line that each use prints, in a process that goes on after it."""
    code = f"""
import traceback
for use in {list(USES)}:
    try:
        exec(use, {{}})
        print("no error")
    except Exception as error:
        print(*traceback.format_exception_only(error), end="")
"""
    done = run(code)
    assert (done.returncode, done.stderr) == (0, "")
    return dict(zip(USES, done.stdout.splitlines(), strict=True))


@pytest.mark.parametrize("use", USES)
def test_the_rest_names_its_extra_in_one_sentence(sentences, use):
    part, extra, lacking = USES[use]
    said = f"{part} needs packages of the extra '{extra}'; got an installation without {lacking}"
    assert re.match(rf"partwhole\._extras\.MissingExtraError: {re.escape(said)}", sentences[use])
    assert sentences[use].endswith(f"; install them: pip install 'partwhole[{extra}]'")


def test_pictures_of_a_folder_need_pillow_alone():
    lines = ["sys.modules['PIL'] = None", "from partwhole.tasks.images import from_folder"]
    code = "\n".join([*lines, "from_folder('pictures', 'attributes.csv', concepts=['shape'])"])
    assert run(code).stderr.splitlines()[-1] == (
        "partwhole._extras.MissingExtraError: from_folder needs the package Pillow; got an "
        "installation without it; install it: pip install pillow, or 'partwhole[plot]', which "
        "brings it"
    )
    # Without the other packages of the extra it goes on, to the folder.
    last = run("\n".join([*lines[1:], code.splitlines()[-1]])).stderr.splitlines()[-1]
    assert last.startswith("partwhole._checks.InputError: pictures are in a folder that exists")


def test_the_command_audits_lists_and_refuses(tmp_path):
    table = tmp_path / "table.csv"
    rows = ("a,x,0,train", "a,y,1,train", "b,x,1,train", "b,y,2,test")
    table.write_text("\n".join(("one,two,sum,split", *rows)))
    words = ("--components", "one", "two", "--target", "sum", "--split", "split")
    html = tmp_path / "page.html"
    # The last of these ends the process.
    code = f"""
from partwhole.cli import main
main({["audit", str(table), *words, "--html", str(html)]})
main(["list"])
print("listed", flush=True)
main(["run", "exposure"])
"""
    done = run(code)
    assert html.stat().st_size > 1000
    assert done.stdout.endswith("\nlisted\n")
    assert done.returncode == 2
    assert re.fullmatch(r"partwhole: .* the extra 'plot'; got .*\n", done.stderr)


def test_extras_are_those_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]

    def packages(extra: str) -> dict[str, None]:
        names: dict[str, None] = {}
        for entry in extras[extra]:
            if inner := re.fullmatch(r"partwhole\[(.*)\]", entry):
                for name in inner[1].split(","):
                    names |= packages(name)
            else:
                names[re.split("[>=]", entry)[0]] = None
        return names

    for extra, names in EXTRAS.items():
        assert list(packages(extra)) == [INSTALLED_AS.get(name, name) for name in names]
