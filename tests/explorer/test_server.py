"""The explorer's server: pages, tables of readers, and one sentence for what has no answer."""

from __future__ import annotations

import base64
import http.client
import io
import json
import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import pandas as pd
import pytest
from explorers import answering

from partwhole._checks import InputError
from partwhole.explorer.panels import PANELS
from partwhole.explorer.server import LARGEST, MOST_KEPT, Explorer

TABLE = "what,who,answer,split\n" + "".join(
    f"{a},{b},{a + 2 * b},{'test' if a == b == 3 else 'train'}\n"
    for a in range(4)
    for b in range(4)
)
ROLES = {"components": ["what", "who"], "target": "answer", "split": "split"}


@pytest.fixture(scope="module")
def explorer() -> Iterator[Explorer]:
    with answering() as server:
        yield server


def ask(explorer, path, body=None, **headers) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", explorer.server_port, timeout=60)
    place = f"{urlsplit(explorer.address).path.removesuffix('/')}{path}"
    connection.request("GET" if body is None else "POST", place, body, headers)
    reply = connection.getresponse()
    text = reply.read().decode()
    connection.close()
    return reply.status, text


def post(explorer, path, **question) -> dict:
    kind = {"Content-Type": "application/json"}
    status, text = ask(explorer, path, json.dumps(question), **kind)
    assert status == 200
    return json.loads(text)


def upload(explorer, name: str, content: bytes) -> dict:
    file = {"name": name, "data": base64.b64encode(content).decode()}
    return post(explorer, "/columns", file=file)


def audit(explorer, file: str | None, **roles) -> dict:
    values = ROLES | roles
    return post(explorer, "/answer", panel="audit", values=values, narrow=False, file=file)


def test_the_page_has_every_panel_with_words_controls_and_code(explorer):
    status, page = ask(explorer, "/")
    assert status == 200
    for panel in PANELS:
        assert f'id="{panel.name}"' in page
        assert f'href="{panel.chapter}.html"' in page
        assert ask(explorer, f"/{panel.chapter}.html")[0] == 200
    assert "connect-src &#x27;self&#x27;" in page


@pytest.mark.parametrize("panel", PANELS[:-1], ids=lambda panel: panel.name)
def test_a_question_has_the_answer_of_the_panel(explorer, panel):
    question = {"panel": panel.name, "values": panel.starts, "narrow": True, "file": None}
    answer, expected = post(explorer, "/answer", **question), panel.answer({}, narrow=True)
    assert (answer["says"], answer["code"]) == (expected.says, expected.code)
    assert answer["picture"].startswith("<?xml")
    assert answer["page"] is None


def test_a_table_of_the_reader_is_audited_and_has_the_whole_page(explorer):
    table = upload(explorer, "my table.csv", TABLE.encode())
    assert table["columns"] == ["what", "who", "answer", "split"]
    assert table["guess"] == ROLES
    answer = audit(explorer, table["file"])
    assert answer["says"].startswith("Supported if parts add up (order 1)")
    assert "\npath = 'my table.csv'\n" in answer["code"]
    status, page = ask(explorer, f"/{answer['page']}")
    assert (status, "Supported" in page) == (200, True)


@pytest.mark.parametrize(
    ("header", "guess"),
    [
        ("a,b,y", {"components": ["a", "b"], "target": "y", "split": ""}),
        ("a,Answer,fold", {"components": ["a"], "target": "Answer", "split": "fold"}),
        ("SPLIT,a,b", {"components": ["a"], "target": "b", "split": "SPLIT"}),
    ],
)
def test_the_roles_of_columns_are_guessed_from_names_and_entries(explorer, header, guess):
    last = [("1", "2"), ("1", "2"), ("train", "test")]
    if guess["split"] == "SPLIT":
        last = [("x", "y"), ("1", "2"), ("1", "2")]
    elif not guess["split"]:
        last[2] = ("3", "4")
    rows = 2 * "".join(f"{','.join(cells)}\n" for cells in zip(*last, strict=True))
    table = upload(explorer, "t.csv", f"{header}\n{rows}".encode())
    assert table["guess"] == guess
    if not guess["split"]:
        answer = audit(explorer, table["file"], **guess)
        assert answer["says"] == "split is a column of the table; got none; choose by name"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.csv", b"", "empty.csv"),
        ("picture.csv", bytes(range(256)), "picture.csv"),
        ("ragged.csv", b"a,b\n1,2\n3\n4,5,6\n", "ragged.csv"),
        ("twice.csv", b"what,who,who,answer,split\n1,2,2,3,train\n", "who"),
        ("table.docx", TABLE.encode(), "docx"),
        ("noending", TABLE.encode(), "noending"),
        ("broken.parquet", b"PAR1 no", "broken.parquet"),
        ("../../up.csv", b"", r"up\.csv"),
    ],
)
def test_a_broken_table_gets_one_sentence(explorer, name, content, words):
    answer = upload(explorer, name, content)
    if "columns" in answer:  # only the header was read so far
        answer = audit(explorer, answer["file"])
    assert answer["picture"] == ""
    assert re.search(words, answer["says"])
    assert re.fullmatch(r"[^\n]+; got [^\n]+; [^\n]+", answer["says"])
    assert explorer.folder.name not in answer["says"]


@pytest.mark.parametrize(
    ("roles", "words"),
    [
        ({"components": ["what"]}, "a combination has at least two components; got 1, 'what'; "),
        ({"components": []}, "components are columns of the table; got none; choose by name"),
        ({"target": "split"}, "split"),
        ({"split": "who"}, "who"),
        ({"components": ["what", "nothing"]}, "nothing"),
    ],
)
def test_roles_that_cannot_be_get_a_sentence_or_an_audit(explorer, roles, words):
    table = upload(explorer, "t.csv", TABLE.encode())
    answer = audit(explorer, table["file"], **roles)
    assert re.search(words, answer["says"])
    assert "fault of partwhole" not in answer["says"]
    assert explorer.folder.name not in answer["says"]


def test_the_last_tables_are_kept_and_an_older_one_says_so(explorer):
    first = upload(explorer, "t.csv", TABLE.encode())["file"]
    for _ in range(MOST_KEPT):
        upload(explorer, "t.csv", TABLE.encode())
    assert audit(explorer, first)["says"] == (
        f"the explorer keeps the last {MOST_KEPT} tables; got an older one; choose the file again"
    )


def test_other_pages_and_other_names_of_the_machine_are_refused(explorer, capfd):
    question = json.dumps({"file": None})
    kind = {"Content-Type": "application/json"}
    assert ask(explorer, "/columns", question, **kind)[0] == 200
    assert ask(explorer, "/columns", question)[0] == 403
    assert ask(explorer, "/columns", question, **{"Content-Type": "text/plain"})[0] == 403
    for host in ("example.org", "["):
        assert ask(explorer, "/columns", question, **kind, Host=host)[0] == 403
        assert ask(explorer, "/", Host=host)[0] == 403
    assert ask(explorer, "/nothing.html")[0] == 404
    assert ask(explorer, "/nothing", question, **kind)[0] == 403
    for size in (str(LARGEST + 1), "abc", "-1"):
        assert ask(explorer, "/columns", b"", **kind, **{"Content-Length": size})[0] == 403
    # Without the word that was printed, on which another user of the machine has to guess.
    for place in ("/", "/report-0.html", "//"):
        connection = http.client.HTTPConnection("127.0.0.1", explorer.server_port, timeout=60)
        connection.request("GET", place)
        reply = connection.getresponse()
        assert reply.status == 403
        assert reply.headers["X-Frame-Options"] == "DENY"
        connection.close()
    assert capfd.readouterr() == ("", "")


def test_the_page_of_an_audit_names_the_table_of_the_reader(explorer):
    file = upload(explorer, "it's mine.csv", TABLE.encode())["file"]
    answer = audit(explorer, file)
    assert '\npath = "it\'s mine.csv"\n' in answer["code"]
    page = ask(explorer, f"/{answer['page']}")[1]
    assert "it&#x27;s mine.csv" in page
    assert explorer.folder.name not in page
    # The code is a program, whatever the name.
    file = upload(explorer, "a\"b'c\\d.csv", TABLE.encode())["file"]
    assert "\npath = 'a\"b\\'c\\\\d.csv'\n" in audit(explorer, file)["code"]


def test_tables_as_people_have_them(explorer):
    """With a column of row numbers without a name, a name for each row, or lists in cells."""
    numbered = TABLE.replace("what", ",what", 1).split("\n")
    lines = [f"{i},{line}" if i else line for i, line in enumerate(numbered) if line]
    table = upload(explorer, "t.csv", "\n".join(lines).encode())
    assert (table["columns"], table["guess"]) == (["what", "who", "answer", "split"], ROLES)
    lines = ["id," + numbered[0][1:], *(f"i{i},{line}" for i, line in enumerate(numbered[1:-1]))]
    assert upload(explorer, "t.csv", "\n".join(lines).encode())["guess"] == ROLES
    file = io.BytesIO()
    lists = pd.DataFrame({"a": [[1], [2]] * 4, "b": [*"xxyy"] * 2, "y": range(8)})
    lists.assign(split=["train", "test"] * 4).to_parquet(file)
    table = upload(explorer, "t.parquet", file.getvalue())
    roles = table["guess"] | {"components": ["a", "b"]}
    says = audit(explorer, table["file"], **roles)["says"]
    assert "fault of partwhole" not in says


def test_a_question_that_no_page_asks_gets_a_sentence(explorer):
    answer = post(explorer, "/answer", panel="nothing", values={}, narrow=False, file=None)
    assert answer["says"].startswith("a fault of partwhole, so nothing can be concluded: KeyError")


def test_tables_are_deleted_when_the_explorer_ends():
    with Explorer() as server:
        server.columns({"name": "t.csv", "data": base64.b64encode(TABLE.encode()).decode()})
        (file,) = server.tables.values()
        assert file.place.is_file()
    assert not file.place.exists()


def test_a_port_that_is_taken_or_is_none_gets_a_sentence(explorer):
    for port in (explorer.server_port, 70_000):
        with pytest.raises(InputError) as caught:
            Explorer(port)
        assert str(caught.value) == (
            f"the explorer's port is free, from 1 to 65535; got {port}; name another, or leave it "
            "out"
        )
