"""The numbers of `data/thresholds.yaml`, as checks compare with them."""

from metalwright.codec.thresholds import library
from metalwright.model.threshold import Threshold


def limit(name: str) -> Threshold:
    """The threshold of that name; KeyError is our bug and makes the check undetermined."""
    return library()[name]


def at_least_percent(value: float, of: float, name: str) -> bool:
    """`value` reaches the threshold's percentage of `of`."""
    return value * 100 >= of * limit(name).value
