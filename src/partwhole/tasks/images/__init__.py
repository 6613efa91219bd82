"""Images of a task's components: their sources and their composition.

`from_folder` reads pictures of one's own with a table of what they show; an `AttributeSpace` has
all combinations of their attributes, for diffusion models. `celeba.read_celeba` reads CelebA.
"""

from partwhole.tasks.images.attribute_space import AttributeSpace as AttributeSpace
from partwhole.tasks.images.class_split import split_classes as split_classes
from partwhole.tasks.images.composing import compose_images as compose_images
from partwhole.tasks.images.folder import from_folder as from_folder
