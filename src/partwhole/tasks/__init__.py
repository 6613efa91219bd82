"""What is learned, and what is held out."""

from partwhole.tasks._combinations import Combinations as Combinations
from partwhole.tasks._identity_sample import IdentitySample as IdentitySample
from partwhole.tasks._task import Task as Task
from partwhole.tasks.addition import dispersed_addition as dispersed_addition
from partwhole.tasks.addition import symbolic_addition as symbolic_addition
from partwhole.tasks.context import context_dependence as context_dependence
from partwhole.tasks.context import context_substitution as context_substitution
from partwhole.tasks.context import stimulus_composition as stimulus_composition
from partwhole.tasks.images.cifar import cifar_images as cifar_images
from partwhole.tasks.images.class_split import ClassSplit as ClassSplit
from partwhole.tasks.images.class_split import split_classes as split_classes
from partwhole.tasks.images.composing import ComposedImages as ComposedImages
from partwhole.tasks.images.composing import class_assignment as class_assignment
from partwhole.tasks.images.composing import compose_images as compose_images
from partwhole.tasks.images.composites import Composites as Composites
from partwhole.tasks.images.digits import digit_images as digit_images
from partwhole.tasks.images.glyphs import glyph_images as glyph_images
from partwhole.tasks.images.mnist import mnist_images as mnist_images
from partwhole.tasks.relations import associative_inference as associative_inference
from partwhole.tasks.relations import transitive_equivalence as transitive_equivalence
from partwhole.tasks.relations import transitive_ordering as transitive_ordering
from partwhole.tasks.relu_teachers import ReLUTeacher as ReLUTeacher
from partwhole.tasks.relu_teachers import ReLUTeacherPair as ReLUTeacherPair
from partwhole.tasks.relu_teachers import ReLUTeachers as ReLUTeachers
from partwhole.tasks.relu_teachers import ReLUTeacherSample as ReLUTeacherSample
from partwhole.tasks.relu_teachers import relu_products as relu_products
from partwhole.tasks.sparse_teachers import SparseTeachers as SparseTeachers
from partwhole.tasks.sparse_teachers import TeacherPair as TeacherPair
from partwhole.tasks.sparse_teachers import TeacherSample as TeacherSample
from partwhole.tasks.structured_identity import StructuredIdentity as StructuredIdentity
from partwhole.tasks.table import from_frame as from_frame
from partwhole.tasks.toys import invariance as invariance
from partwhole.tasks.toys import partial_exposure as partial_exposure

__all__ = [
    "ClassSplit",
    "Combinations",
    "ComposedImages",
    "Composites",
    "IdentitySample",
    "ReLUTeacher",
    "ReLUTeacherPair",
    "ReLUTeacherSample",
    "ReLUTeachers",
    "SparseTeachers",
    "StructuredIdentity",
    "Task",
    "TeacherPair",
    "TeacherSample",
    "associative_inference",
    "cifar_images",
    "class_assignment",
    "compose_images",
    "context_dependence",
    "context_substitution",
    "digit_images",
    "dispersed_addition",
    "from_frame",
    "glyph_images",
    "invariance",
    "mnist_images",
    "partial_exposure",
    "relu_products",
    "split_classes",
    "stimulus_composition",
    "symbolic_addition",
    "transitive_equivalence",
    "transitive_ordering",
]
