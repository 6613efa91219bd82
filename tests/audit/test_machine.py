"""What machines read: JSON without NaN, SARIF that names lines, JUnit that parses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlparse
from xml.etree import ElementTree

import audit_samples
import numpy as np
import pandas as pd
import pytest
from split_tables import cross, random_table, rows, total

from partwhole._checks import InputError
from partwhole.audit import AuditReport, Settings, audit_split
from partwhole.audit.outputs.build_servers import MOST_LOCATIONS
from partwhole.audit.outputs.machine import MOST_ITEMS, MOST_ROWS
from partwhole.audit.rules import RULES

COLUMNS = ["first", "second"]
NASTY = "</failure>\x00\x1b]]>&\"'é"


def strict(text: str):
    """Parse JSON, and refuse what JSON has no words for."""

    def refuse(constant: str):
        raise AssertionError(constant)

    return json.loads(text, parse_constant=refuse)


def written(frame: pd.DataFrame, folder, **options) -> AuditReport:
    path = folder / "a table.csv"
    frame.to_csv(path, index=False)
    return audit_split(path, COLUMNS, "target", "split", **options)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("labels", [True, False])
def test_json_says_what_the_report_says(seed, labels):
    report = audit_split(random_table(seed, labels=labels), COLUMNS, "target", "split")
    told = strict(report.to_json())
    assert told == report.to_dict()
    for name in ("verdict", "solvable", "order", "fit"):
        assert told[name] == getattr(report, name)
    assert told["determined"] == report.determined
    assert (told["errors"], told["warnings"]) == (len(report.errors), len(report.warnings))
    for mine, theirs in zip(report.findings, told["findings"], strict=True):
        assert theirs["rows"] == mine.rows.tolist()
        assert theirs["row_count"] == len(mine.rows)
        assert theirs["rule"] in RULES
    for mine, theirs in zip(report.evidence, told["splits"], strict=True):
        assert theirs["held_out"] == len(mine.case.held_out)
        if mine.prediction is None:
            assert theirs["prediction"] is None
            continue
        assert len(theirs["prediction"]["points"]) == len(mine.prediction.points)
        point = mine.prediction.points[mine.prediction.reference]
        reference = theirs["prediction"]["points"][theirs["prediction"]["reference"]]
        assert reference["error"] == point.error
        for rung, one in zip(mine.ladder, theirs["ladder"], strict=True):
            assert (one["order"], one["determined"]) == (rung.order, rung.share)
            assert len(one["lacking"]) == len(rung.lacking)


def test_a_certificate_in_json_can_be_recomputed():
    report = audit_split(cross(total, lambda a, b: a * b), COLUMNS, "target", "split")
    (split,) = strict(report.to_json())["splits"]
    proof = split["solvability"]["certificate"]
    assert sum(c["weight"] * c["target"] for c in proof["combinations"]) == proof["total"] != 0
    for name in COLUMNS:
        sums: dict[int, float] = {}
        for c in proof["combinations"]:
            sums[c["values"][name]] = sums.get(c["values"][name], 0.0) + c["weight"]
        assert set(sums.values()) == {0.0}
    for c in proof["combinations"]:
        assert c["target"] == c["values"]["first"] * c["values"]["second"]


def test_json_cuts_long_lists_and_says_so():
    n = MOST_ROWS + 5
    frame = pd.concat(
        [
            rows("a x 1 train", "b y 2 train", "a y 1 train", target=float),
            pd.DataFrame({"first": "a", "second": "x", "target": 1.0, "split": ["test"] * n}),
        ],
        ignore_index=True,
    )
    told = strict(audit_split(frame, COLUMNS, "target", "split").to_json())
    (finding,) = told["findings"]
    assert finding["row_count"] == n
    assert len(finding["rows"]) == MOST_ROWS
    assert told["determined"] is None
    assert told["splits"][0]["prediction"] is None


def test_values_that_json_would_change_are_text():
    frame = rows("a x 1 train", "b y 2 train", "a y 1 train", "b x 1 test", target=float)
    frame["first"] = frame["first"].map({"a": 2**60, "b": 7}).astype(object)
    frame["second"] = pd.to_datetime(frame["second"].map({"x": "2020-01-01", "y": "2021-01-01"}))
    (split,) = strict(audit_split(frame, COLUMNS, "target", "split").to_json())["splits"]
    values = {(v["component"], str(v["value"])) for v in split["coverage"]["values"]}
    assert ("first", str(2**60)) in values
    assert any(isinstance(v["value"], int) for v in split["coverage"]["values"])
    assert ("second", "2020-01-01 00:00:00") in values


@pytest.mark.parametrize("seed", range(3))
def test_sarif_has_the_shape_that_2_1_0_asks_for(seed, tmp_path):
    settings = Settings(silence={"thin-coverage": "a small pilot"})
    frame = random_table(seed)
    report = written(frame, tmp_path, settings=settings)
    log = strict(report.to_sarif())
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-2.1.0.json")
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "partwhole"
    ids = [rule["id"] for rule in driver["rules"]]
    assert ids == list(RULES)
    for rule in driver["rules"]:
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")
        assert all(rule[name]["text"] for name in ("shortDescription", "fullDescription", "help"))
    assert len(run["results"]) == len(report.findings)
    lines = (tmp_path / "a table.csv").read_text().splitlines()
    assert report.table.files[0].first_line == 2
    for result, finding in zip(run["results"], report.findings, strict=True):
        assert result["ruleId"] == ids[result["ruleIndex"]] == finding.rule
        assert result["level"] == finding.severity
        assert result["message"]["text"] == finding.message
        assert result["properties"]["rowCount"] == len(finding.rows)
        assert len(result["locations"]) == len(finding.rows) > 0
        for row, location in zip(finding.rows, result["locations"], strict=True):
            place = location["physicalLocation"]
            uri = urlparse(place["artifactLocation"]["uri"])
            assert uri.scheme == "file"
            assert unquote(uri.path) == str(tmp_path / "a table.csv")
            line = lines[place["region"]["startLine"] - 1].split(",")
            assert line == [str(entry) for entry in frame.iloc[row]]
            assert line[-1] == finding.split
        silenced = finding.rule == "thin-coverage"
        assert ("suppressions" in result) is silenced
        if silenced:
            assert result["suppressions"] == [
                {"kind": "external", "justification": "a small pilot"}
            ]


def test_sarif_keeps_a_relative_path_and_few_enough_lines(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    n = MOST_LOCATIONS + 5
    frame = pd.concat(
        [rows("a x 1 train", "b y 2 train", "a y 1 train")] + [rows("a x 1 test")] * n
    )
    frame.to_csv("some table.csv", index=False)
    report = audit_split("some table.csv", COLUMNS, "target", "split")
    (result,) = strict(report.to_sarif())["runs"][0]["results"]
    assert len(result["locations"]) == MOST_LOCATIONS
    assert result["properties"]["rowCount"] == n
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "some%20table.csv"
    for path, uri in (
        (tmp_path / "some table.csv", "some%20table.csv"),
        (tmp_path.parent / "t.csv", (tmp_path.parent / "t.csv").as_uri()),
    ):
        file = replace(report.table.files[0], path=str(path))
        told = strict(replace(report, table=replace(report.table, files=(file,))).to_sarif())
        (result,) = told["runs"][0]["results"]
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri


def test_sarif_has_the_lines_of_each_of_several_files(tmp_path):
    """Of training and of test; then with a blank line in the second, whose lines are unknown."""
    frame = random_table(0)
    paths = {part: tmp_path / f"{part}.csv" for part in ("train", "test")}
    for part, path in paths.items():
        chosen = (frame["split"] == "train") == (part == "train")
        frame[chosen].drop(columns="split").to_csv(path, index=False)
    report = audit_split(paths, COLUMNS, "target")
    located = set()
    for result, finding in zip(
        strict(report.to_sarif())["runs"][0]["results"], report.findings, strict=True
    ):
        for row, location in zip(finding.rows, result["locations"], strict=True):
            place = location["physicalLocation"]
            path = Path(unquote(urlparse(place["artifactLocation"]["uri"]).path))
            cells = path.read_text().splitlines()[place["region"]["startLine"] - 1].split(",")
            codes = report.table.components[row]
            values = zip(report.table.values, codes, strict=True)
            assert cells[:2] == [str(of[code]) for of, code in values]
            located.add(path.name)
    assert located == {"train.csv", "test.csv"}
    with paths["test"].open("a") as file:
        file.write("\n" + paths["test"].read_text().splitlines()[-1] + "\n")
    report = audit_split(paths, COLUMNS, "target")
    for result in strict(report.to_sarif())["runs"][0]["results"]:
        for location in result["locations"]:
            place = location["physicalLocation"]
            assert ("region" in place) == place["artifactLocation"]["uri"].endswith("train.csv")


def test_errors_name_the_line_of_the_file_that_has_it(tmp_path):
    frame = pd.DataFrame(
        [("a", "x", "1"), ("b", "y", "2"), ("a", "y", "3")], columns=[*COLUMNS, "target"]
    )
    paths = {part: tmp_path / f"{part}.csv" for part in ("train", "test")}
    frame.to_csv(paths["train"], index=False)
    frame.assign(target=["1", "", "3"]).to_csv(paths["test"], index=False)
    with pytest.raises(InputError, match=r"in row 4 \(line 3 of test.csv\)"):
        audit_split(paths, COLUMNS, "target")


def test_sarif_of_other_tables_names_no_lines(tmp_path):
    frame = rows("a x 1 train", "b y 2 train", "a y 1 test", target=float)
    report = audit_split(frame, COLUMNS, "target", "split")
    assert all("locations" not in one for one in strict(report.to_sarif())["runs"][0]["results"])
    path = tmp_path / "t.parquet"
    frame.to_parquet(path)
    report = audit_split(path, COLUMNS, "target", "split")
    for one in strict(report.to_sarif())["runs"][0]["results"]:
        assert [*one["locations"][0]["physicalLocation"]] == ["artifactLocation"]


def test_sarif_names_no_lines_where_rows_are_not_lines(tmp_path):
    frame = rows("a x 1 train", "b y 2 train", "a y 1 test", target=float)
    frame["first"] = frame["first"].replace("a", "a\nb")
    report = written(frame, tmp_path)
    assert report.findings
    for one in strict(report.to_sarif())["runs"][0]["results"]:
        assert [*one["locations"][0]["physicalLocation"]] == ["artifactLocation"]


def test_json_counts_what_it_cuts():
    rng = np.random.default_rng(0)
    n = 1_500
    frame = pd.DataFrame(
        {
            "first": np.arange(n),
            "second": rng.integers(0, 2, n),
            "target": rng.normal(size=n),
            "split": np.where(np.arange(n) < 100, "train", "test"),
        }
    )
    (split,) = strict(audit_split(frame, COLUMNS, "target", "split", add=0).to_json())["splits"]
    assert split["coverage"]["value_count"] == n + 2
    assert len(split["coverage"]["values"]) == MOST_ITEMS
    assert split["held_out"] == split["determination"]["undetermined_count"] == n - 100
    assert len(split["determination"]["undetermined"]) == MOST_ITEMS
    assert (split["prediction"]["structure"], split["prediction"]["noise"]) == (None, None)


def test_junit_has_a_case_for_each_rule_of_each_split():
    settings = Settings(silence={"unseen-value": "known <& wanted"})
    frame = random_table(5)
    frame.loc[frame["split"] == "far", "first"] = 99
    report = audit_split(frame, COLUMNS, "target", "split", settings=settings)
    root = ElementTree.fromstring(report.to_junit())
    assert root.tag == "testsuites"
    suites = {suite.get("name"): suite for suite in root}
    assert [*suites][:2] == ["far", "near"]
    for name, suite in suites.items():
        cases = {case.get("name"): case for case in suite}
        assert suite.get("tests") == str(len(cases))
        assert suite.get("failures") == str(len(suite.findall("testcase/failure")))
        assert suite.get("skipped") == str(len(suite.findall("testcase/skipped")))
        assert list(cases) == (["conflicting-duplicates"] if name == "train" else list(RULES))
        for rule, case in cases.items():
            mine = [one for one in report.findings if (one.split, one.rule) == (name, rule)]
            failure, skipped = case.find("failure"), case.find("skipped")
            out = case.find("system-out")
            if not mine:
                assert len(case) == 0
            elif rule == "unseen-value":
                assert skipped is not None
                assert skipped.get("message") == "known <& wanted"
            elif RULES[rule].severity == "error":
                assert failure is not None
                assert all(one.message in (failure.text or "") for one in mine)
            else:
                assert failure is None
                assert skipped is None
                assert out is not None
                assert all(one.message in (out.text or "") for one in mine)


def test_no_name_breaks_a_format(tmp_path):
    frame = rows("a x 1 train", "b y 2 train", "a y 1 train", "c x 1 test", target=float)
    frame["first"] = frame["first"].astype(object).replace("c", NASTY)
    frame["split"] = frame["split"].astype(object).replace("test", "t" + NASTY)
    settings = Settings(silence={"not-determined": NASTY, "unseen-value": NASTY + "\ud800"})
    report = audit_split(frame, COLUMNS, "target", "split", settings=settings)
    strict(report.to_json(tmp_path / "a.json"))
    strict(report.to_sarif(tmp_path / "a.sarif"))
    report.to_junit(tmp_path / "a.xml")
    root = ElementTree.parse(tmp_path / "a.xml").getroot()
    assert "</failure>\\x00\\x1b" in (root[0].get("name") or "")
    report.to_text().encode()
    assert strict((tmp_path / "a.json").read_text()) == report.to_dict()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "a.sarif", "a.xml"]


@pytest.mark.parametrize("name", ["rivals", "votes", "products"])
def test_a_proof_says_whose_outputs_it_adds_up(name):
    report = getattr(audit_samples, name)()
    (split,) = json.loads(report.to_json())["splits"]
    told, proof = split["solvability"]["certificate"], report.evidence[0].solvability.certificate
    labels = report.table.labels
    if labels is None:
        assert told["target"] == report.table.target[proof.output]
        return
    if proof.labels is not None:
        assert told["labels"] == [labels[i] for i in proof.labels]
    elif proof.rivals:
        for pair, row in zip(told["label_pairs"], told["combinations"], strict=True):
            assert pair[0] == row["target"] != pair[1]
    else:
        assert len(labels) == 2
