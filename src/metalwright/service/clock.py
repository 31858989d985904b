"""The collector's clock."""

import asyncio
import time

from metalwright.model.ids import Instant


class SystemClock:
    """ports.Clock of a real process."""

    def now(self) -> Instant:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
