"""From a recording to a page: how compositional it is, and what readouts of it will answer.

`measure` puts the measures of a recording side by side; ``partwhole measure`` is its command.
The result is a `measurement.Measurement`.
"""

from partwhole.measurement.measurement import measure as measure

__all__ = ["measure"]
