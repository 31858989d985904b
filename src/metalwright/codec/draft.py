"""What could be read of a spec so far: the parts that fit, where each stands, and every name that was meant, even of broken parts.

A name counts although its block is broken, so that one mistake is not told again by everything that refers to it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from metalwright.codec.notebook import SpecPath
from metalwright.model.spec import SiteSpec

T = TypeVar("T")
_NAMED_BY: Mapping[str, tuple[str, ...]] = {"images": ("name", "version"), "purchase": ("serial",)}


@dataclass(slots=True)
class Draft:
    """`values`: whole fields of SiteSpec. `items`: entries of its lists and mappings, with their paths."""

    values: dict[str, Any] = field(default_factory=dict)
    items: dict[str, list[tuple[SpecPath, Any]]] = field(default_factory=dict)
    names: dict[str, set[str]] = field(default_factory=dict)
    unsure: set[str] = field(default_factory=set)
    """Keys of which some entries could not even be named: nothing is said to be missing there."""

    def each(self, key: str, shape: type[T]) -> Iterator[tuple[SpecPath, T]]:
        """The good entries of a list."""
        return ((path, item) for path, item in self.items.get(key, ()) if isinstance(item, shape))

    def value(self, key: str, shape: type[T]) -> T | None:
        """A whole field, if it fits."""
        found = self.values.get(key)
        return found if isinstance(found, shape) else None

    def named(self, key: str) -> set[str]:
        """Names of the entries of a list or mapping, broken ones included."""
        return self.names.get(key, set())

    def remember(self, key: str, raw: Any) -> None:
        """Note the name of an entry before it is judged: images are `name@version`, lines of the packing list serials."""
        if key == "purchase" and isinstance(raw, Mapping) and "node_serial" in raw:
            return  # a part inside another thing owns nothing
        wanted = _NAMED_BY.get(key, ("name",))
        if isinstance(raw, Mapping) and all(word in raw for word in wanted):
            self.names.setdefault(key, set()).add("@".join(str(raw[word]) for word in wanted))
        elif key != "purchase":
            self.unsure.add(key)
        if key == "nodes" and isinstance(raw, Mapping) and "serial" in raw:
            self.names.setdefault("serials of nodes", set()).add(str(raw["serial"]))

    def spec(self) -> SiteSpec:
        """The spec, once nothing is wrong."""
        lists = {key: tuple(item for _, item in items) for key, items in self.items.items() if key != "profiles"}
        return SiteSpec(**(self.values | lists))
