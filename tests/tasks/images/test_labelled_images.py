"""Pictures with labels: held out, split, as a task's samples, and as components of others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import partwhole as pw
from partwhole._checks import InputError
from partwhole.networks.images.convnet import convnet
from partwhole.networks.layer_salience import layer_saliences
from partwhole.tasks import compose_images, from_frame
from partwhole.tasks.images import AttributeSpace
from partwhole.tasks.images.labelled_images import LabelledImages
from partwhole.tasks.toys import partial_exposure

SPACE = AttributeSpace({"shape": ["disc", "square"], "tone": ["dark", "light"], "row": [1, 2, 3]})
SQUARES = np.linspace(-1.0, 1.0, 8) ** 2
DISC, SQUARE = np.add.outer(SQUARES, SQUARES) < 0.7, np.maximum.outer(SQUARES, SQUARES) < 0.4


def draw(shape, tone, row, rng):
    """Return a mark on a ground of noise, with a bright row below or above."""
    level = {"dark": 0.4, "light": 0.8}[tone]
    image = np.where(DISC if shape == "disc" else SQUARE, level, 0.1 * rng.random((8, 8)))
    image[2 * row] = 1.0
    return image


@pytest.fixture
def pictures():
    drawn = SPACE.render(draw, 4, seed=0)
    drawn.table["sum"] = drawn.table["row"] + 10.0 * (drawn.table["tone"] == "light")
    return drawn


def refusal(call, *values, **options) -> str:
    with pytest.raises(InputError) as caught:
        call(*values, **options)
    return str(caught.value)


def test_what_is_held_out_is_no_longer_among_what_is_seen(pictures):
    seen, unseen = pictures.hold_out(["disc light", "square 3"])
    held_out = (pictures.table["shape"] == "disc") & (pictures.table["tone"] == "light")
    held_out |= (pictures.table["shape"] == "square") & (pictures.table["row"] == 3)
    np.testing.assert_array_equal(unseen.images, pictures.images[held_out])
    np.testing.assert_array_equal(seen.images, pictures.images[~held_out])
    pd.testing.assert_frame_equal(unseen.table, pictures.table[held_out].reset_index(drop=True))
    np.testing.assert_array_equal(seen.components, pictures.components[~held_out])


def test_what_cannot_be_held_out(pictures):
    lost = "each label of a combination that is held out is also in training; got"
    fewer = "in no picture for training; hold out fewer combinations of it"
    assert refusal(pictures.hold_out, "disc") == f"{lost} 'disc' {fewer}"
    assert refusal(pictures.hold_out, ["light disc", "light square"]) == f"{lost} 'light' {fewer}"
    seen, unseen = pictures.hold_out("disc light 1")
    none = (
        "a combination that is held out has pictures; got none of 'disc light 1'; train on all "
        "pictures, and ask for it in a prompt"
    )
    assert refusal(seen.hold_out, "disc light 1") == none
    # Of the pictures that are left, none for training has the label.
    assert refusal(unseen.hold_out, "disc light 1") == f"{lost} 'disc' {fewer}"
    assert refusal(seen.composites, "sum", held_out="disc light 1") == none


def test_validation_takes_a_share_of_each_class(pictures):
    training, validation = pictures.split(0.5, seed=0)
    assert training.counts.tolist() == validation.counts.tolist() == [2] * 12
    both = np.concatenate([training.images, validation.images])
    np.testing.assert_array_equal(np.sort(both, axis=0), np.sort(pictures.images, axis=0))
    again, by_new_seed = (pictures.split(0.5, seed=seed)[1].images for seed in (0, 1))
    np.testing.assert_array_equal(again, validation.images)
    assert not np.array_equal(by_new_seed, again)
    assert refusal(pictures.split, 0.2, seed=0) == (
        "a share holds out a picture or more; got 0.2 of at most 4 in a class; pass a larger one"
    )


def test_samples_of_a_task_are_the_pictures_with_their_targets(pictures):
    shuffled = pictures.take(np.random.default_rng(0).permutation(len(pictures)))
    samples = shuffled.composites("sum", held_out="disc light")
    task = samples.task
    np.testing.assert_array_equal(samples[:], shuffled.images)
    np.testing.assert_array_equal(samples.targets, shuffled.table["sum"])
    np.testing.assert_array_equal(samples.components, shuffled.components)
    assert task.values == (("disc", "square"), ("dark", "light"), (1, 2, 3))
    np.testing.assert_array_equal(task.is_train, [True] * 3 + [False] * 3 + [True] * 6)


def test_the_task_is_that_of_the_table_by_a_column_of_the_split(pictures):
    table = pictures.table
    table["split"] = np.where((table["shape"] == "disc") & (table["row"] == 2), "test", "train")
    for target in ("sum", "tone", "row"):
        task = pictures.composites(target, split="split").task
        rows = table.drop_duplicates(["shape", "tone", "row"]).assign(target=table[target])
        expected = from_frame(rows, ["shape", "tone", "row"], "target", "split")
        np.testing.assert_array_equal(task.components, expected.components)
        np.testing.assert_array_equal(task.targets, expected.targets)
        np.testing.assert_array_equal(task.is_train, expected.is_train)
    marked = pictures.composites("sum", split="split", train="test").task
    np.testing.assert_array_equal(marked.is_train, ~expected.is_train)


def test_values_that_no_picture_has_keep_their_numbers(pictures):
    few = pictures.take(pictures.components[:, 2] > 0)
    task = few.composites("sum", held_out="disc light").task
    assert task.n_values == (2, 2, 3)
    assert sorted(set(task.components[:, 2].tolist())) == [1, 2]


def test_columns_that_make_no_task(pictures):
    assert refusal(pictures.composites, "sum") == (
        "combinations are held out by a column of the table or by their names; got neither; pass "
        "split or held_out"
    )
    assert "got both" in refusal(pictures.composites, "sum", split="row", held_out="disc dark")
    assert refusal(pictures.composites, "total", held_out="disc dark") == (
        "target and split each name one column of the table; got 'total', which no columns have; "
        "columns are shape, tone, row, sum; rename the column or the argument"
    )
    pictures.table["trial"] = range(len(pictures))
    assert refusal(pictures.composites, "trial", held_out="disc dark") == (
        "'trial' is the same for all pictures of a combination; got 0 and 1 for 'disc dark 1'; "
        "name another column, or train on pairs of images and targets"
    )


def test_training_on_samples_is_that_on_images_and_targets(pictures):
    samples = pictures.composites("tone", held_out="disc light")
    seen = samples.task.is_train[samples.rows]
    network = convnet(samples.shape, channels=(4,), kernel=3, dense=(4,), seed=0)
    training = pw.Training(optimiser="adam", learning_rate=1e-3, batch=12, epochs=2)
    of_samples = pw.train(
        network, samples.take(seen), training, test={"all": samples}, progress=False
    )
    pair = pictures.images[seen], samples.targets[seen]
    of_pairs = pw.train(network, pair, training, read=pictures.images, progress=False)
    # Layouts differ, and with them the order in which single precision adds up.
    np.testing.assert_allclose(of_samples.training_loss, of_pairs.training_loss, rtol=1e-4)
    np.testing.assert_allclose(
        of_samples.outputs["all"].reshape(-1), of_pairs.answers[0, -1].reshape(-1), atol=1e-4
    )
    with_components = layer_saliences(network, pictures.images, pictures.components)
    np.testing.assert_allclose(
        layer_saliences(network, samples)["relu 2"].salience,
        with_components["relu 2"].salience,
        rtol=1e-4,
    )


def test_pictures_of_a_concept_are_components_of_other_tasks(pictures):
    task = partial_exposure()
    composed = compose_images(
        task, pictures.images, pictures.components[:, 0], distance=8, seed=0
    ).training(3)
    left = composed[:][:, :, :8, 0].reshape(len(composed), -1)
    flat = pictures.images.reshape(len(pictures), -1)
    same = (left[:, None] == flat).all(axis=2)
    assert (same.sum(axis=1) == 1).all()
    shapes = pictures.components[same.argmax(axis=1), 0]
    # Each value of the first component is shown by one shape, another by the other.
    assert len(set(zip(composed.components[:, 0].tolist(), shapes.tolist(), strict=True))) == 2


def test_a_classifier_is_trained_on_images_and_components(pictures):
    training = pw.Training(
        loss="cross entropy", optimiser="adam", learning_rate=1e-3, batch=8, epochs=2
    )
    classifier = pw.training.train_concept_classifier(
        pictures.images, pictures.components, training=training, seed=0, progress=False
    )
    goal = SPACE.classes[SPACE.index("disc light 3")]
    assert classifier.coordinates(pictures.images, goal).shape == (48, 3)


def test_a_picture_of_the_pictures_and_what_they_are(pictures):
    assert pictures.picture(2).shape == (12 * 9 - 1, 17, 3)
    assert pictures.describe() == (
        "48 pictures of 8 x 8 x 1: shape (2) x tone (2) x row (3), 0.0 MiB\n"
        "12 of 12 combinations have pictures, 4 to 4 of each"
    )
    assert repr(pictures) == (
        "LabelledImages(48 pictures of 8 x 8 x 1: shape (2) x tone (2) x row (3))"
    )
    seen, _ = pictures.hold_out("disc light")
    assert seen.describe().endswith("none of disc light 1, disc light 2, disc light 3")


def test_parts_that_do_not_fit():
    images, components = np.zeros((2, 3, 3, 1), np.float32), np.zeros((2, 3), int)
    table = pd.DataFrame(index=range(2))
    assert len(LabelledImages(images, components, SPACE, table)) == 2
    assert refusal(LabelledImages, images, components + 2, SPACE, table) == (
        "components are indices of 2 x 2 x 3 labels for each picture; got 2..2 of shape (2, 3); "
        "number the labels of each concept from 0"
    )
    assert "of shape (2, 2)" in refusal(LabelledImages, images, components[:, :2], SPACE, table)
    assert refusal(LabelledImages, images, components, SPACE, table[:1]) == (
        "a table of pandas has a row for each picture; got 1 rows for 2 pictures; pass one for each"
    )
    assert "got None" in refusal(LabelledImages, images, components, SPACE, None)
