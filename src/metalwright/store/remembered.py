"""Decoded immutable things kept in memory by their digest, so that an unchanged inventory is parsed once, not at every turn."""

from collections import OrderedDict
from threading import Lock
from typing import Generic, TypeVar

from metalwright.model.observation import Body
from metalwright.model.spec import StoredSpec
from metalwright.model.work import OrderBody

K = TypeVar("K")
V = TypeVar("V")

BODY_BYTES = 192 * 2**20
"""JSON bytes of the bodies kept: about 2,000 nodes with two DGX inventories of 49 kB each. Decoded they take about as much memory
(benchmarks/store.py). Above it a body is parsed again at each turn: some 2 ms."""
ORDERS = 20_000


class Kept(Generic[K, V]):
    """The most recently used values up to a total weight. Only for values that never change under their key."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._weight = 0
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._lock = Lock()  # bodies are parsed in threads

    def get(self, key: K) -> V | None:
        with self._lock:
            held = self._values.get(key)
            if held is None:
                return None
            self._values.move_to_end(key)
            return held[0]

    def put(self, key: K, value: V, weight: int = 1) -> V:
        with self._lock:
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
