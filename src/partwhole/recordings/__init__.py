"""Responses of neurons, voxels or units in trials of known conditions.

`from_trials` reads arrays and tables as people have them, `read` files, and `activations` the
layers of a network. Measures of representations take a `Recording`; `partwhole.measure` says how
compositional it is, whether there are enough trials to say so, and what readouts will answer to
conditions that are held out.
"""

from partwhole.recordings.activations import activations
from partwhole.recordings.building import from_trials
from partwhole.recordings.files import read
from partwhole.recordings.recording import Recording

__all__ = ["Recording", "activations", "from_trials", "read"]
