"""From a recording to a page: how compositional it is, and what readouts of it will answer.

`measure` puts the measures of a recording side by side; ``partwhole measure`` is its command.
"""

from partwhole.measurement.measurement import Measurement, measure

__all__ = ["Measurement", "measure"]
