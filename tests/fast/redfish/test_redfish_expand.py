"""`$expand` saves most requests where it tells the truth, and changes nothing where it does not (Q49)."""

import asyncio
from dataclasses import replace

from tree_bmc import TreeBmc, recorded

from conftest import factory, node
from metalwright.drivers.redfish.expand import ExpandTrust, is_whole
from metalwright.drivers.redfish.factory import RedfishFactory
from metalwright.model.hardware import HardwareFacts
from metalwright.model.observation import HardwareSeen, Kind


def sweep(makes: RedfishFactory, expand: str) -> tuple[HardwareFacts, int]:
    """Facts of the recorded DGX H100 and the number of requests they took."""

    async def run() -> tuple[HardwareFacts, int]:
        async with TreeBmc(recorded("nvidia_viking"), expand=expand) as bmc:
            driver = makes.open(node(bmc.url))
            observation = await driver.read(Kind.BMC_HARDWARE)
            await driver.close()
            assert isinstance(observation.body, HardwareSeen)
            return observation.body.facts, len(bmc.asked)

    return asyncio.run(run())


def test_expanded_and_plain_reads_give_the_same_facts() -> None:
    """The facts do not depend on `$expand`; the requests do, and a second BMC of the same firmware needs still fewer."""
    plain, many = sweep(factory(), "")
    shared = factory()
    first, fewer = sweep(shared, "whole")
    second, fewest = sweep(shared, "whole")
    assert replace(first, warnings=0) == replace(plain, warnings=0) == replace(second, warnings=0)
    assert many > 770
    assert fewest < fewer < many / 2
    assert fewest < 110, "one request per collection and per resource that no collection holds"


def test_a_bmc_that_drops_fields_is_read_plainly() -> None:
    """Expanded members without their serial are noticed at the first comparison of each kind, and not believed."""
    plain, _ = sweep(factory(), "")
    lossy, _ = sweep(factory(), "lossy")
    assert replace(lossy, warnings=0) == replace(plain, warnings=0)


def test_what_counts_as_whole() -> None:
    """A missing or different property is a lie; a moved number, another status or ETag are not."""
    alone = {"@odata.id": "/a", "@odata.etag": "1", "@odata.context": "c", "Id": "a", "Reading": 4, "Status": {"Health": "OK"}}
    assert is_whole({"@odata.id": "/a", "Id": "a", "Reading": 5, "Status": {}}, alone)
    assert not is_whole({"@odata.id": "/a", "Id": "a", "Status": {}}, alone)
    assert not is_whole({"@odata.id": "/a", "Id": "b", "Reading": 5, "Status": {}}, alone)


def test_a_lie_is_never_forgotten() -> None:
    """Once distrusted, a firmware's kind of collection stays so; others are judged on their own."""
    trust = ExpandTrust()
    trust.learn("fw", "list:drive", is_whole=True)
    trust.learn("fw", "list:drive", is_whole=False)
    trust.learn("fw", "list:drive", is_whole=True)
    assert trust.is_trusted("fw", "list:drive") is False
    assert trust.is_trusted("fw", "list:memory") is None
