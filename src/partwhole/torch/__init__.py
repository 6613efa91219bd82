"""Models of torch, for whoever stays in torch: the extra `torch`.

Nothing here imports torch before it is used, and all but the exchange of weights works without JAX.
Models, tensors and data go in as torch has them; numbers come out as NumPy arrays.

tangent_kernel
    The tangent kernel of a model, in bounded memory.
compare
    Logits beside what a theory predicts.
read_samples, predictions.read_predictions
    Generative models and classifiers at their checkpoints, for `measures.concepts`.
dataset
    Composed images and pictures of shapes as a `torch.utils.data.Dataset`.
weights.from_state_dict, weights.to_state_dict
    Weights of torchvision's residual networks and Vision Transformers as networks of partwhole.

Activations are those of `recordings.activations`, which takes models of torch too.
"""

from partwhole.torch import predictions as predictions
from partwhole.torch import weights as weights
from partwhole.torch.datasets import dataset as dataset
from partwhole.torch.logits import compare as compare
from partwhole.torch.samples import read_samples as read_samples
from partwhole.torch.tangent import tangent_kernel as tangent_kernel

__all__ = [
    "compare",
    "dataset",
    "read_samples",
    "tangent_kernel",
]
