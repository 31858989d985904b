"""One timer serves all requests of a connection: each request still has exactly its own time."""

import asyncio
import time
from typing import Any

import pytest

from metalwright.drivers.redfish.failures import BmcUnavailable
from metalwright.drivers.redfish.http_client import HttpClient, origin_of
from metalwright.drivers.redfish.limits import Bounds
from metalwright.drivers.redfish.trust import CertificateTrust, MemoryPins
from tests.fast.redfish.tree_bmc import TreeBmc


async def waits(bmc: TreeBmc, asked: Any) -> Any:
    """Answers `/redfish/0.3` after 0.3 s."""
    await asyncio.sleep(float(asked.path.rpartition("/")[2]))
    return 200, {}, b"{}"


async def spent(http: HttpClient, takes_s: float, timeout_s: float) -> float | None:
    """Seconds until the request was given up; None when it was answered."""
    began = time.monotonic()
    try:
        await http.send("GET", f"/redfish/{takes_s}", "", None, timeout_s)
    except BmcUnavailable as failure:
        assert failure.failure_class == "timeout"
        return time.monotonic() - began
    return None


@pytest.mark.parametrize("first_s", [0.1, 30.0])
def test_a_deadline_is_that_of_its_own_request(first_s: float) -> None:
    """After a request with a shorter or a much longer time: a slow answer within its time comes, a slower one is given up in time."""

    async def run() -> None:
        async with TreeBmc({}, handlers=[waits]) as bmc:
            http = HttpClient(origin_of(bmc.url), CertificateTrust(bmc.url, MemoryPins()), Bounds())
            assert await spent(http, 0.0, first_s) is None
            assert await spent(http, 0.2, 5.0) is None
            given_up = await spent(http, 20.0, 0.3)
            http.close()
            assert given_up is not None
            assert 0.29 < given_up < 2
            assert bmc.connections == 1

    asyncio.run(run())
