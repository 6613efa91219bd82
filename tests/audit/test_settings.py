"""Settings: what a configuration may hold, and how others are refused."""

from __future__ import annotations

from inspect import signature

import pytest

from partwhole._checks import InputError
from partwhole.audit import Settings
from partwhole.audit.settings import EXAMPLE, OPTIONS
from partwhole.cli.audit import CONFIG
from partwhole.cli.audit import audit as command

SENTENCES = {
    "[thresholds]\nleak = 1": (
        "a threshold is one of determined, unexplained, shortcut_effect, group_share, unseen, "
        "salience, leak_slope, coverage; got 'leak'; the nearest is leak_slope"
    ),
    "[thresholds]\ncoverage = 2.5": (
        "coverage is a whole number of combinations, 0 or more; got 2.5; write such as coverage = 3"
    ),
    "[thresholds]\ncoverage = true": (
        "coverage is a whole number of combinations, 0 or more; got True; "
        "write such as coverage = 3"
    ),
    "[thresholds]\nleak_slope = 'x'": (
        "leak_slope is a number, 0 or more; got 'x'; write such as leak_slope = 0.5"
    ),
    "[thresholds]\nleak_slope = inf": (
        "leak_slope is a number, 0 or more; got inf; write such as leak_slope = 0.5"
    ),
    "[thresholds]\ngroup_share = 2": (
        "group_share is a share from 0 to 1; got 2; write such as group_share = 0.2"
    ),
    "[thresholds]\ndetermined = nan": (
        "determined is a share from 0 to 1; got nan; write such as determined = 1"
    ),
    "thresholds = 3": (
        "thresholds is a table of settings; got 3; write a line [thresholds] and its entries "
        "below it"
    ),
    "leak_slope = 0.3": (
        "settings have the tables [thresholds] and [silence]; got 'leak_slope'; move it into one "
        "of them"
    ),
    "require_order = 2": (
        "settings have the tables [thresholds] and [silence]; got require_order, which is an "
        "option of the command, not of a configuration; use --require-order"
    ),
    "[thresholds]\ntime-limit = 2": (
        "settings have the tables [thresholds] and [silence]; got time-limit, which is an option "
        "of the command, not of a configuration; use --time-limit"
    ),
    "silence = ['shortcut']": (
        "silence is a table of settings; got ['shortcut']; write a line [silence], and below it "
        'for each rule a line such as shortcut = "why it does not apply"'
    ),
    "[silence]\nshort-cut = 'x'": (
        "a silenced rule is one of those that `partwhole audit --rules` lists; got 'short-cut'; "
        "the nearest is shortcut"
    ),
    "[silence]\nshortcut = ' '": (
        "the reason for silencing a rule is a text; got ' ' for shortcut; write shortcut = "
        '"why it does not apply"'
    ),
    "[silence]\nshortcut = true": (
        "the reason for silencing a rule is a text; got True for shortcut; write shortcut = "
        '"why it does not apply"'
    ),
}


@pytest.mark.parametrize("text", SENTENCES)
def test_settings_are_refused_in_one_sentence(text, tmp_path):
    path = tmp_path / "audit.toml"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        Settings.load(path)
    assert str(error.value) == SENTENCES[text]


def test_settings_files_that_are_none(tmp_path):
    remedy = "name a TOML file with the tables [thresholds] and [silence]"
    with pytest.raises(InputError) as error:
        Settings.load(tmp_path / "none.toml")
    assert str(error.value) == (
        f"the settings file must exist; got {tmp_path / 'none.toml'}; {remedy}"
    )
    with pytest.raises(InputError) as error:
        Settings.load(tmp_path)
    assert str(error.value) == f"settings are in a file; got the folder {tmp_path}; {remedy}"
    path = tmp_path / "audit.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError) as error:
        Settings.load(path)
    assert str(error.value) == f"settings are UTF-8 text; got other bytes in {path}; {remedy}"
    path.write_text("[thresholds\n")
    with pytest.raises(InputError) as error:
        Settings.load(path)
    assert str(error.value).startswith(f"{path} must be TOML; got ")
    assert str(error.value).endswith("; correct that line")


def test_settings_are_read(tmp_path):
    path = tmp_path / "audit.toml"
    path.write_text('[thresholds]\ncoverage = 5\n[silence]\nshortcut = "known"\n')
    settings = Settings.load(path)
    assert settings.thresholds == {**Settings().thresholds, "coverage": 5}
    assert dict(settings.silence) == {"shortcut": "known"}
    path.write_text("")
    assert Settings.load(path).thresholds == Settings().thresholds


def test_the_example_is_a_configuration_and_that_of_the_help(tmp_path):
    path = tmp_path / "audit.toml"
    path.write_text(EXAMPLE)
    settings = Settings.load(path)
    assert (settings.coverage, dict(settings.silence)) == (5, {"shortcut": "balanced by design"})
    assert CONFIG.split(":\n")[1].replace("    ", "") + "\n" == EXAMPLE


def test_options_are_those_of_the_command():
    files = {"config", "output", "json", "html", "sarif", "junit", "rules"}
    assert set(OPTIONS) == set(signature(command).parameters) - files
