"""Images of a task's components: their sources and their composition.

`from_folder` reads pictures of one's own with a table of what they show; an `AttributeSpace` has
all combinations of their attributes, for diffusion models. `celeba.read_celeba` reads CelebA,
`cifar_images` CIFAR-100, and `digit_images` the digits of scikit-learn.
"""

from partwhole.tasks.images.attribute_space import AttributeSpace as AttributeSpace
from partwhole.tasks.images.cifar import cifar_images as cifar_images
from partwhole.tasks.images.class_split import split_classes as split_classes
from partwhole.tasks.images.composing import compose_images as compose_images
from partwhole.tasks.images.digits import digit_images as digit_images
from partwhole.tasks.images.folder import from_folder as from_folder
