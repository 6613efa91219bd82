"""Readers of published files: SCAN's whole grammar, rules from their formulas, made sentences."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import published_files as files
import pytest

from partwhole._checks import InputError
from partwhole.atlas import find_splits
from partwhole.atlas.readers import grids
from partwhole.atlas.readers.commands import components_of
from partwhole.atlas.readers.functions import applications
from partwhole.atlas.readers.questions import MOST_WORDS, RARE
from partwhole.atlas.readers.sentences import relations


def only(folder, **options):
    (split,) = find_splits(folder, **options)
    return split


def rows(split, *columns):
    return split.read().frame[list(columns)].to_numpy().tolist()


def test_every_command_of_scan_has_the_components_it_was_made_of():
    commands = files.scan_commands()
    assert len(commands) == 20_910  # the published number
    assert all(components_of(words) == parts for words, parts in commands)


@pytest.mark.parametrize(
    "words", ["", "turn", "turn twice", "jump around", "jump twice left", "fly", "walk and",
              "walk and run and look", "walk walk"]
)  # fmt: skip
def test_what_is_not_of_the_grammar_has_no_components(words):
    assert components_of(words) is None


def test_scan_counts_actions_and_pairs_files(tmp_path):
    files.scan(tmp_path / "add_prim_split", "addprim_jump", ["jump", "walk twice"], ["jump twice"])
    (tmp_path / "tasks_train_alone.txt").write_text("IN: jump OUT: I_JUMP\n")
    split = only(tmp_path)
    assert split.name == "scan/addprim_jump"
    table = split.read()
    assert table.components == ("verb1", "rep1")
    assert table.target == ("I_JUMP", "I_WALK")
    assert rows(split, "verb1", "rep1", "I_JUMP", "I_WALK", "split") == [
        ["jump", "once", 1, 0, "train"],
        ["walk", "twice", 0, 2, "train"],
        ["jump", "twice", 2, 0, "test"],
    ]


def test_scan_of_jump_leaves_open_what_asks_for_a_second_jump(tmp_path):
    """The rule of the published split: jump occurs in training alone only."""
    commands = [words for words, parts in files.scan_commands() if parts[4] != "after"]
    with_jump = [words for words in commands if "jump" in words and words != "jump"]
    training = [words for words in commands if "jump" not in words or words == "jump"]
    files.scan(tmp_path, "addprim_jump", training, with_jump)
    evidence = only(tmp_path).audit(add=0).evidence[0]
    frame = evidence.case.task
    verb2 = frame.names.index("verb2")
    asks = frame.test_components[:, verb2] == frame.values[verb2].index("jump")
    assert 0 < asks.sum() < len(asks)
    np.testing.assert_array_equal(evidence.determination.determined, ~asks)


def test_relations_have_places_modifiers_and_depths():
    passive = relations(
        "The jug was taken by Ada .",
        "* jug ( x _ 1 ) ; take . theme ( x _ 3 , x _ 1 ) AND take . agent ( x _ 3 , Ada )",
    )
    assert [tuple(r) for r in passive] == [
        ("take", "theme", "jug", "before", "none", "0"),
        ("take", "agent", "Ada", "after", "none", "0"),
    ]
    dative = relations(
        "Ada sold Ben a jug in the hut .",
        "* hut ( x _ 7 ) ; sell . agent ( x _ 1 , Ada ) AND sell . recipient ( x _ 1 , Ben ) AND "
        "sell . theme ( x _ 1 , x _ 4 ) AND jug ( x _ 4 ) AND jug . nmod . in ( x _ 4 , x _ 7 )",
    )
    assert [tuple(r) for r in dative] == [
        ("sell", "agent", "Ada", "before", "none", "0"),
        ("sell", "recipient", "Ben", "after", "none", "0"),
        ("sell", "theme", "jug", "after another", "in", "0"),
        ("in", "nmod", "hut", "after", "none", "0"),
    ]
    nested = relations(
        "Ada said that Ben hoped that the owl ran .",
        "* owl ( x _ 7 ) ; say . agent ( x _ 1 , Ada ) AND say . ccomp ( x _ 1 , x _ 4 ) AND "
        "hope . agent ( x _ 4 , Ben ) AND hope . ccomp ( x _ 4 , x _ 8 ) AND "
        "run . agent ( x _ 8 , x _ 7 )",
    )
    assert [(r.predicate, r.role, r.argument, r.depth) for r in nested] == [
        ("say", "agent", "Ada", "0"),
        ("say", "ccomp", "hope", "0"),
        ("hope", "agent", "Ben", "1"),
        ("hope", "ccomp", "run", "1"),
        ("run", "agent", "owl", "2"),
    ]


def test_cogs_is_read_by_relations_and_judged_by_sentences(tmp_path):
    files.cogs(tmp_path)
    split = only(tmp_path)
    frame = split.read().frame
    assert split.name == "cogs"
    assert set(frame["split"]) == {"train", "subj_to_obj_common", "pp_recursion"}
    assert frame[frame["item"] == "train 6"]["role"].tolist() == ["agent", "theme"]
    report = split.audit(add=0)
    by_name = {e.case.name: e for e in report.evidence}
    # An owl that was only a subject: all of its parts are there, its pairs are not.
    owl = by_name["subj_to_obj_common"]
    assert owl.determination.share == 1.0
    assert owl.ladder[1].determined == 0
    depth = by_name["pp_recursion"].coverage.unseen_values
    assert {by_name["pp_recursion"].case.task.names[v.component] for v in depth} == {"depth"}


def test_nested_functions_are_pairs():
    assert applications("append copy A1 B1 , echo C1 , D1") is None
    assert applications("copy A1 , B1") is None
    assert applications("append A1") is None
    assert applications("A1 B1") is None
    assert applications("remove_first A1 , copy prepend_twin B1 , C1") == [
        ("remove_first", "first", "(string)", 0),
        ("remove_first", "second", "copy", 0),
        ("copy", "only", "prepend_twin", 1),
        ("prepend_twin", "first", "(string)", 2),
        ("prepend_twin", "second", "(string)", 2),
    ]


def test_pcfg_asks_for_new_pairs(tmp_path):
    files.pcfg(tmp_path / "systematicity")
    report = only(tmp_path).audit(add=0)
    assert report.table.source == "pcfg/systematicity"
    assert report.determined == 1.0
    assert report.evidence[0].ladder[1].lacking[0][0] == (0, 2)


PATTERNS = ("Did M0 direct M1", "Who directed M0", "Did M1 edit M2 and M3", "Who edited M2")


def test_cfq_is_read_as_words(tmp_path):
    files.cfq(tmp_path, PATTERNS, {"train": [2, 0], "dev": [], "test": [3, 3]})
    split = only(tmp_path)
    assert rows(split, "words", "split") == [
        [["Did", "ENTITY", "edit", "and"], "train"],
        [["Did", "ENTITY", "direct"], "train"],
        [["Who", "edited", "ENTITY"], "test"],
        [["Who", "edited", "ENTITY"], "test"],
    ]
    assert [value.rows.tolist() for value in split.audit(add=0).evidence[0].coverage.unseen_values]


def test_rare_words_of_cfq_share_a_component(tmp_path):
    patterns = [f"common word{i // 2}" for i in range(2 * MOST_WORDS)] + [
        "common odd",
        "common end",
    ]
    files.cfq(tmp_path, patterns, {"train": list(range(len(patterns))), "test": [0]})
    table = only(tmp_path).read()
    words = {word for cell in table.frame["words"] for word in cell}
    assert len(words) == MOST_WORDS
    assert {"common", RARE} <= words
    assert table.frame["words"].iloc[-2] == ["common", RARE]
    assert table.remarks[-1] == "4 rare words count as one"


def test_gscan_has_components_of_command_and_target(tmp_path):
    examples = {
        "train": [
            files.gscan_example("walk to a small red circle", "red", "circle", "n"),
            files.gscan_example("push a circle", "yellow", "circle", "s"),
        ],
        "visual": [files.gscan_example("push a yellow square hesitantly", "yellow", "square", "n")],
    }
    examples["visual"][0]["manner"] = "hesitantly"
    files.gscan(tmp_path / "compositional_splits", examples)
    split = only(tmp_path)
    assert split.name == "gscan/compositional_splits"
    assert rows(split, "verb", "adverb", "size word", "colour word", "colour", "direction") == [
        ["walk", "none", "small", "red", "red", "n"],
        ["push", "none", "none", "none", "yellow", "s"],
        ["push", "hesitantly", "none", "yellow", "yellow", "n"],
    ]
    assert "size" not in split.read().components


def test_pairs_of_lists_and_of_images_agree(tmp_path):
    files.pair_lists(tmp_path / "a" / "mit-states")
    files.pair_images(tmp_path / "a" / "ut-zap50k", "older")
    files.pair_images(tmp_path / "a" / "cgqa", "archive")
    splits = find_splits(tmp_path)
    assert [split.name for split in splits] == ["mit-states", "ut-zappos", "c-gqa"]
    listed, older, archive = (rows(split, "attribute", "object", "split") for split in splits)
    assert older == archive == [row for row in listed for _ in range(2)]
    # NAN is an attribute, not a missing entry.
    assert ["NAN", "cat", "train"] in listed
    report = splits[0].audit(add=0)
    unseen = {e.case.name: len(e.coverage.unseen_values) for e in report.evidence}
    assert unseen == {"test": 1, "val": 0}


# The published rules as formulas of the values of latent factors: a third route to the lists of
# indices in the reader.
HUES, SCALES = np.linspace(0, 0.9, 10), np.linspace(0.75, 1.25, 8)
FORMULAS = {
    "dsprites/shape-to-x": lambda v: (v["shape"] == 0) & (v["x"] / 31 > 0.5),
    "dsprites/leave-one-out": lambda v: (
        (v["shape"] == 1)
        & (v["scale"] > 1)  # of .5, .6, ...: above .6
        & (3 * v["orientation"] > 39)  # above 120 degrees of 360 / 39 each
        & (3 * v["orientation"] < 78)
        & (v["x"] / 31 > 0.66)
        & (v["y"] / 31 > 0.66)
    ),
    "dsprites/x-extrapolation": lambda v: v["x"] / 31 > 0.5,
    "shapes3d/shape-to-object-hue": lambda v: (v["shape"] == 3) & (HUES[v["object hue"]] > 0.49),
    "shapes3d/shape-to-floor-hue": lambda v: (v["shape"] == 3) & (HUES[v["floor hue"]] > 0.49),
    "shapes3d/wall-hue-to-object-hue": lambda v: (
        (HUES[v["object hue"]] > 0.79) & (HUES[v["wall hue"]] < 0.21)
    ),
    "shapes3d/leave-one-out": lambda v: (
        (HUES[v["object hue"]] > 0.79)
        & (HUES[v["wall hue"]] > 0.79)
        & (HUES[v["floor hue"]] > 0.79)
        & (SCALES[v["scale"]] >= 1.1)
        & (v["shape"] == 1)
        & (np.linspace(-30, 30, 15)[v["orientation"]] > 20)
    ),
    "shapes3d/floor-hue-extrapolation": lambda v: HUES[v["floor hue"]] > 0.49,
    "mpi3d/shape-to-x": lambda v: (v["shape"] == 2) & (v["x"] < 20),
    "mpi3d/colour-to-x": lambda v: (v["colour"] == 2) & (v["x"] < 20),
    "mpi3d/leave-one-out": lambda v: (
        (v["colour"] == 5) & (v["shape"] == 2) & (v["size"] == 1) & (v["height"] == 1)
        & (v["background"] == 1) & (v["x"] > 35) & (v["y"] > 35)
    ),
    "mpi3d/x-extrapolation": lambda v: v["x"] > 20,
    "mpi3d/colour-extrapolation": lambda v: v["colour"] > 3,
}  # fmt: skip
GRIDS = {
    "dsprites": (grids.DSPRITES_SIZES, grids.DSPRITES_RULES),
    "shapes3d": (grids.SHAPES3D_SIZES, grids.SHAPES3D_RULES),
    "mpi3d": (grids.MPI3D_SIZES, grids.MPI3D_RULES),
}


def codes(column):
    return (column.cat.codes if column.dtype == "category" else column).to_numpy()


@pytest.mark.parametrize("name", FORMULAS)
def test_rules_are_those_of_the_published_values(name):
    benchmark, _, variant = name.partition("/")
    sizes, rules = GRIDS[benchmark]
    (rule,) = (rule for rule in rules if rule.name == variant)
    frame = grids.by_rule(benchmark, sizes, [rule])[name]().frame
    numbers = {
        column: codes(frame[column])
        for column in sizes
    }  # fmt: skip
    np.testing.assert_array_equal(frame["split"] == "test", FORMULAS[name](numbers))
    left_out = numbers["x"] == 20 if name == "mpi3d/x-extrapolation" else False
    assert not np.any(left_out)
    assert len(frame) == np.prod([*sizes.values()]) - (
        25_920 if name == "mpi3d/x-extrapolation" else 0
    )


def test_every_rule_has_a_formula():
    names = {f"{name}/{rule.name}" for name, (_, rules) in GRIDS.items() for rule in rules}
    assert names == set(FORMULAS)


def test_grids_are_known_by_names_alone_and_lists_by_their_labels(tmp_path):
    (tmp_path / "3dshapes.h5").touch()
    labels = np.array(list(product(range(3), range(2), range(2), range(2), range(2))))
    files.grid_lists(tmp_path, "dsprites_composition", labels[::2].astype(float), labels[1::2])
    splits = {split.name: split for split in find_splits(tmp_path)}
    assert set(splits) == {"dsprites/composition"} | {
        f"shapes3d/{rule.name}" for rule in grids.SHAPES3D_RULES
    }
    table = splits["dsprites/composition"].read()
    assert table.frame["shape"].iloc[0] == "square"
    assert table.frame["split"].tolist() == ["train"] * 24 + ["test"] * 24
    # y is 0 in training and 1 in test.
    assert table.components == ("shape", "scale", "orientation", "x", "y")


def cogent_rows():
    """CLEVR-CoGenT's rule: two families of colours, which cubes and cylinders exchange."""
    first, second = ("gray", "blue", "brown", "yellow"), ("red", "green", "purple", "cyan")
    parts = {"trainA": [], "valB": []}
    for part, (cube, cylinder) in (("trainA", (first, second)), ("valB", (second, first))):
        for shape, colours in (("cube", cube), ("cylinder", cylinder), ("sphere", first + second)):
            for colour, material, size in product(colours, ("rubber", "metal"), ("small", "large")):
                parts[part].append((shape, colour, material, size))
    return parts


def test_cogent_is_a_sum_of_parts_with_a_shortcut(tmp_path):
    files.clevr(tmp_path, cogent_rows())
    report = only(tmp_path).audit(add=0)
    assert report.verdict == "supported"
    assert report.evidence[0].ladder[1].determined == 0
    shortcut = report.evidence[0].shortcuts[0]
    assert [report.table.names[c] for c in shortcut.components] == ["color"]
    assert shortcut.test == 0.0


def test_waterbirds_and_celeba_hold_nothing_out(tmp_path):
    counts = {(0, 0, 0): 300, (0, 1, 0): 15, (1, 1, 0): 100, (1, 0, 0): 5}
    counts |= {(y, place, 2): 50 for y, place in product((0, 1), repeat=2)}
    files.waterbirds(tmp_path / "birds", counts)
    groups = {(-1, -1): 200, (-1, 1): 200, (1, -1): 70, (1, 1): 4}
    people = [(*group, 0) for group, n in groups.items() for _ in range(n)]
    people += [(*group, 2) for group in groups for _ in range(30)]
    for kind in ("txt", "csv"):
        files.celeba(tmp_path / kind, people, kind)
    splits = {split.name: split for split in find_splits(tmp_path)}
    assert set(splits) == {"waterbirds", "celeba (csv)", "celeba (txt)"}
    birds = splits["waterbirds"].audit()
    assert (
        "place alone is right in 95 % of training (labels weighted as in test) and 50 % of test"
        in birds.headline
    )
    celeba = splits["celeba (txt)"].read()
    assert celeba.frame.value_counts().to_dict()[("blond", "male", "train")] == 4
    assert (celeba.frame["split"] == "test").sum() == 120
    assert splits["celeba (csv)"].read().frame.equals(celeba.frame)


BAD = {
    "scan": (
        lambda d: (files.scan(d, "x", ["jump"], ["walk"]),
                   (d / "tasks_test_x.txt").write_text("IN: fly OUT: I_FLY\n")),
        r"a line of SCAN is a command .*; got 'IN: fly OUT: I_FLY' in line 1 of tasks_test_x.txt; "
        "use the published file",
    ),
    "scan bytes": (
        lambda d: (files.scan(d, "x", ["jump"], ["walk"]),
                   (d / "tasks_test_x.txt").write_bytes(b"\x1f\x8b\xff")),
        "tasks_test_x.txt is text in UTF-8; got other bytes; unpack it or save it as text",
    ),
    "cogs": (
        lambda d: (files.cogs(d), (d / "gen.tsv").write_text("A owl ran .\trun\n")),
        r"a line of COGS is a sentence, its logical form and its type, .* in line 1 of gen.tsv",
    ),
    "pcfg": (
        lambda d: (files.pcfg(d), (d / "test.src").write_text("copy echo , A\n")),
        "a line of PCFG SET is functions before their arguments.* in line 1 of test.src",
    ),
    "cfq lists": (
        lambda d: files.cfq(d, PATTERNS, {"train": [0]}),
        "a split of CFQ has lists of row numbers, trainIdxs and testIdxs; got others in mcd1.json",
    ),
    "cfq numbers": (
        lambda d: files.cfq(d, PATTERNS, {"train": [0], "test": [4]}),
        "row numbers of mcd1.json are those of dataset.json; got 4 of 4 entries; use files of one",
    ),
    "cfq entries": (
        lambda d: (files.cfq(d, PATTERNS, {"train": [0], "test": [1]}),
                   (d / "dataset.json").write_text('[{"question": "Who"}]')),
        "an entry of CFQ has a questionPatternModEntities; got none in entry 0 of dataset.json",
    ),
    "gscan": (
        lambda d: files.gscan(d, {"train": [{"command": "walk"}]}),
        "an example of gSCAN has a command, a manner and a situation .* in example 0 of dataset",
    ),
    "gscan parts": (
        lambda d: files.gscan(d, {"train": [files.gscan_example("walk", "red", "circle", "n")]}),
        "gSCAN has examples for training and test; got train in dataset.txt",
    ),
    "pairs": (
        lambda d: (files.pair_lists(d / "cgqa"),
                   (d / "cgqa/compositional-split-natural/val_pairs.txt").write_text("wet\n")),
        "a line of pairs is an attribute and an object; got 'wet' in line 1 of val_pairs.txt",
    ),
    "labels": (
        lambda d: files.grid_lists(d, "mpi3d_composition", np.full((2, 7), 7), np.zeros((2, 7))),
        "mpi3d_composition_train_labels.npz has a row for each image, with its 7 factors as whole "
        "numbers; got other numbers",
    ),
    "labels shape": (
        lambda d: files.grid_lists(d, "dsprites_composition", np.zeros((2, 7)), np.zeros((2, 7))),
        "with its 5 factors as whole numbers; got 1 arrays, the first 2 x 7",
    ),
    "clevr": (
        lambda d: (files.clevr(d, {"trainA": [], "valB": []}),
                   (d / "CLEVR_trainA_scenes.json").write_text('{"scenes": [{"objects": []}]}')),
        "a scene of CLEVR has objects with shape, color, material and size; got none in scene 0",
    ),
    "waterbirds": (
        lambda d: files.waterbirds(d, {(0, 0, 0): 1, (2, 0, 2): 1}),
        "metadata.csv of Waterbirds has columns y, place and split of 0, 1 and 2; got other",
    ),
    "celeba": (
        lambda d: files.celeba(d, [(1, 1, 0), (1, -1, 7)], "csv"),
        "CelebA's files have Blond_Hair and Male of 1 and -1, and parts 0, 1 and 2; got other",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_damaged_files_are_refused_in_a_sentence(tmp_path, name):
    write, message = BAD[name]
    write(tmp_path)
    with pytest.raises(InputError, match=message) as caught:
        only(tmp_path).read()
    assert len(re.findall("; ", str(caught.value))) == 2


DAMAGED = {
    "broken link": lambda d: (files.pcfg(d), (d / "test.src").unlink(),
                              (d / "test.src").symlink_to(d / "nowhere")),
    "deep": lambda d: (files.pcfg(d), (d / "test.src").write_text("copy " * 5000 + "A1")),
    "deep json": lambda d: (files.cfq(d, PATTERNS, {"train": [0], "test": [1]}),
                            (d / "dataset.json").write_text("[" * 200_000)),
    "empty test": lambda d: (files.scan(d, "x", ["jump", "walk twice"], ["walk"]),
                             (d / "tasks_test_x.txt").write_text("")),
    "constant": lambda d: files.gscan(d, {part: [files.gscan_example(
        "walk to a circle", "red", "circle", "n")] for part in ("train", "test")}),
    "lists in lists": lambda d: files.cfq(d, PATTERNS, {"train": [[0, 1]], "test": [1]}),
    "no numbers": lambda d: files.cfq(d, PATTERNS, {"train": [0.7], "test": [1.2]}),
    "negative": lambda d: files.cfq(d, PATTERNS, {"train": [0], "test": [-1]}),
    "pickle": lambda d: (files.pair_images(d / "cgqa", "older").write_bytes(
        b"\x80\x02]q\x00(K\x01Nae.")),
    "long pickle": lambda d: (files.pair_images(d / "cgqa", "older").write_bytes(
        b"\x80\x04\x8e" + b"\xff" * 7 + b"\x7f" + b"x.")),
    "huge": lambda d: files.celeba(d, [(10**30, 1, 0), (1, -1, 2)], "csv"),
    "ragged": lambda d: (files.celeba(d, [(1, 1, 0), (1, -1, 2)], "csv"),
                         (d / "list_attr_celeba.csv").write_text("a,b\n1,2,3\n1,2,3,4\n")),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGED)
def test_no_file_breaks_a_reader(tmp_path, name):
    DAMAGED[name](tmp_path)
    with pytest.raises(InputError) as caught:
        only(tmp_path).read()
    assert len(re.findall("; ", str(caught.value))) == 2
    assert "\n" not in str(caught.value)


def test_splits_of_one_name_are_told_apart_by_their_folders(tmp_path):
    for folder in ("a", "b"):
        files.cogs(tmp_path / folder)
        files.scan(tmp_path / folder / "SCAN", "simple", ["walk", "run twice"], ["run"])
    assert [split.name for split in find_splits(tmp_path)] == [
        "scan/simple (a/SCAN)", "scan/simple (b/SCAN)", "cogs (a)", "cogs (b)",
    ]  # fmt: skip


def test_links_are_followed_once(tmp_path):
    files.cogs(tmp_path / "data" / "cogs")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "link").symlink_to(tmp_path / "data")
    (tmp_path / "data" / "loop").symlink_to(tmp_path / "data")
    assert [split.name for split in find_splits(tmp_path / "here")] == ["cogs"]


def test_files_of_the_same_names_that_are_something_else_are_left_alone(tmp_path):
    (tmp_path / "dataset.txt").write_text("hello\n")
    (tmp_path / "train.src").write_text("Ein Satz .\n")
    (tmp_path / "test.src").write_text("Ein anderer .\n")
    (tmp_path / "train.tsv").write_text("a\tb\n")
    (tmp_path / "gen.tsv").write_text("a\tb\n")
    (tmp_path / "metadata.csv").write_text("a,b\n")
    assert find_splits(tmp_path) == ()


def test_a_folder_is_named_in_any_way(tmp_path, monkeypatch):
    files.pair_lists(tmp_path / "UT_Zappos50K")
    monkeypatch.chdir(tmp_path / "UT_Zappos50K")
    assert only(".").name == "ut-zappos"


def test_cogs_has_its_development_set(tmp_path):
    files.cogs(tmp_path)
    (tmp_path / "gen.tsv").rename(tmp_path / "dev.tsv")
    files.cogs(tmp_path)
    assert "dev" in set(only(tmp_path).read().frame["split"])
