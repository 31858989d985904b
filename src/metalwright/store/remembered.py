"""Decoded immutable things kept in memory by their digest, so that an unchanged inventory is parsed once, not at every turn."""

from collections import OrderedDict
from typing import Generic, TypeVar

from metalwright.model.observation import Body
from metalwright.model.spec import StoredSpec
from metalwright.model.work import OrderBody

K = TypeVar("K")
V = TypeVar("V")

BODY_BYTES = 48 * 2**20
"""JSON bytes of the bodies kept: about 1,000 DGX inventories of 45 kB. Decoded they take some five times that; above it a body is
parsed again at each turn, which costs a millisecond, no more."""
ORDERS = 20_000


class Kept(Generic[K, V]):
    """The most recently used values up to a total weight. Only for values that never change under their key."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._weight = 0
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()

    def get(self, key: K) -> V | None:
        held = self._values.get(key)
        if held is None:
            return None
        self._values.move_to_end(key)
        return held[0]

    def put(self, key: K, value: V, weight: int = 1) -> V:
        self._weight += weight - (self._values.pop(key)[1] if key in self._values else 0)
        self._values[key] = (value, weight)
        while self._weight > self._limit and len(self._values) > 1:
            self._weight -= self._values.popitem(last=False)[1][1]
        return value


class Remembered:
    """One store's memory."""

    def __init__(self) -> None:
        self.bodies: Kept[tuple[str, str], Body] = Kept(BODY_BYTES)
        """By (kind, digest): the bytes of two kinds may be the same."""
        self.orders: Kept[int, OrderBody] = Kept(ORDERS)
        self.spec: Kept[str, StoredSpec] = Kept(1)
