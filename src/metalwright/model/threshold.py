"""A number that a check compares with: data with a unit, a scope, a source and a date."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """`value` is an integer in `unit`; `gpu`, `platform`, `algorithm` and `scale` say what it holds for (`any`: for all)."""

    name: str
    value: int
    unit: str
    source: str
    date: str
    gpu: str = "any"
    platform: str = "any"
    algorithm: str = "any"
    scale: str = "any"
    why: str = ""
    """What breaks with another number."""
