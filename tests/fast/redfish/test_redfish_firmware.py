"""Firmware updates: pulled or pushed in the form the BMC has; tasks that hand over, finish or vanish prove nothing by themselves."""

import asyncio
from typing import Any

import orjson
import pytest
from editable_bmc import EditableBmc, link, members
from tree_bmc import Asked, Reply, error

from conftest import factory, node
from metalwright.drivers.redfish.actions.firmware import TaskSeen
from metalwright.drivers.redfish.driver import RedfishBmc
from metalwright.model.bmc_actions import PullFirmware
from metalwright.model.errors import MachineFault, TemporaryError

UPDATE = "/redfish/v1/UpdateService"
IMAGE = b"\x7fFW\r\n--not-a-boundary\r\n" * 1000


def bmc_with(**service: Any) -> EditableBmc:
    actions = {"#UpdateService.SimpleUpdate": {"target": f"{UPDATE}/Simple"}}
    inventory = f"{UPDATE}/FirmwareInventory"
    documents = {
        UPDATE: {"FirmwareInventory": link(inventory), "Actions": actions, **service},
        inventory: members(f"{inventory}/BIOS", f"{inventory}/BMC"),
        f"{inventory}/BIOS": {"Id": "BIOS", "Version": "1"},
        f"{inventory}/BMC": {"Id": "BMC", "Version": "1"},
    }
    return EditableBmc(documents).root(UpdateService=link(UPDATE))


def drive(bmc: EditableBmc, what: Any) -> Any:
    async def run() -> Any:
        async with bmc.listening() as listening:
            driver = factory().open(node(listening.url, "SN-1"))
            try:
                return await what(driver)
            finally:
                await driver.close()

    return asyncio.run(run())


def accepted(asked: Asked) -> Reply:
    return 202, {"Location": "/redfish/v1/TaskService/TaskMonitors/7"}, b"{}"


def test_multipart_is_preferred_and_whole() -> None:
    """Parameters part first, even when empty; the image unchanged; a length, no chunks (Q05, Q43)."""
    for components, targets in (((), {}), (("BMC",), {"Targets": [f"{UPDATE}/FirmwareInventory/BMC"]})):
        bmc = bmc_with(MultipartHttpPushUri=f"{UPDATE}/upload", HttpPushUri=f"{UPDATE}/push")
        heads: list[dict[str, str]] = []

        def take(asked: Asked, heads: list[dict[str, str]] = heads) -> Reply:
            heads.append(asked.headers)
            return accepted(asked)

        bmc.posts = {f"{UPDATE}/upload": take}
        monitor = drive(bmc, lambda driver, components=components: driver.push_firmware(IMAGE, components))
        assert monitor == "/redfish/v1/TaskService/TaskMonitors/7"
        (_, body) = bmc.posted[0]
        boundary = heads[0]["content-type"].partition("boundary=")[2].encode()
        parts = body.split(b"--" + boundary)
        assert len(parts) == 4
        assert orjson.loads(parts[1].partition(b"\r\n\r\n")[2]) == targets
        assert parts[2].partition(b"\r\n\r\n")[2] == IMAGE + b"\r\n"
        assert int(heads[0]["content-length"]) == len(body)
        assert "transfer-encoding" not in heads[0]


def test_plain_push_where_there_is_no_multipart() -> None:
    """HttpPushUri takes the image as it is (Q43)."""
    bmc = bmc_with(HttpPushUri=f"{UPDATE}/push")
    bmc.posts = {f"{UPDATE}/push": accepted}
    drive(bmc, lambda driver: driver.push_firmware(IMAGE))
    assert bmc.posted == [(f"{UPDATE}/push", IMAGE)]


def test_no_push_at_all_needs_a_person() -> None:
    """A BMC that only pulls says so, and nothing is sent."""
    bmc = bmc_with()
    with pytest.raises(MachineFault, match="pushed"):
        drive(bmc, lambda driver: driver.push_firmware(IMAGE))


def test_pull_names_the_components() -> None:
    """SimpleUpdate gets the URL, its protocol and the paths of the named components; unknown ones change nothing."""
    bmc = bmc_with()
    bmc.posts = {f"{UPDATE}/Simple": accepted}
    drive(bmc, lambda driver: driver.act(PullFirmware(image_url="https://h/f.bin", components=("BIOS",))))
    wanted = {"ImageURI": "https://h/f.bin", "TransferProtocol": "HTTPS", "Targets": [f"{UPDATE}/FirmwareInventory/BIOS"]}
    assert [orjson.loads(body) for _, body in bmc.posted] == [wanted]
    with pytest.raises(MachineFault, match="GPU"):
        drive(bmc, lambda driver: driver.act(PullFirmware(image_url="https://h/f.bin", components=("GPU",))))
    assert len(bmc.posted) == 1


def test_a_busy_update_service_is_waited_for() -> None:
    """503 while another update runs is for the loop; 400 for an image it does not take is for a person."""
    for reply, expected in (
        (error(503, "Base.1.8.ServiceTemporarilyUnavailable"), TemporaryError),
        (error(400, "Update.1.0.Bad"), MachineFault),
    ):
        bmc = bmc_with(HttpPushUri=f"{UPDATE}/push")
        bmc.posts = {f"{UPDATE}/push": lambda asked, reply=reply: reply}
        with pytest.raises(expected):
            drive(bmc, lambda driver: driver.push_firmware(IMAGE))


def test_the_monitor_may_be_in_the_body() -> None:
    """202 without Location: the task is the body's own id (Q39)."""
    bmc = bmc_with(HttpPushUri=f"{UPDATE}/push")
    bmc.posts = {f"{UPDATE}/push": lambda asked: (202, {}, orjson.dumps(link("/redfish/v1/TaskService/Tasks/9")))}
    assert drive(bmc, lambda driver: driver.push_firmware(IMAGE)) == "/redfish/v1/TaskService/Tasks/9"


TASK = "/redfish/v1/TaskService/Tasks/1"


@pytest.mark.parametrize(
    ("document", "state"),
    [
        ({"TaskState": "New"}, "running"),
        ({"TaskState": "Running", "PercentComplete": 100}, "running"),
        ({"TaskState": "Completed", "PercentComplete": 100}, "ended"),
        ({"TaskState": "Exception"}, "failed"),
        ({"JobState": "Scheduled"}, "running"),
        ({"JobState": "CompletedWithErrors"}, "ended"),
        ({"JobState": "Failed"}, "failed"),
        (None, "gone"),
    ],
)
def test_task_states(document: dict[str, Any] | None, state: str) -> None:
    """New runs (Q41), 100 % while running runs, a vanished task is gone and not done (Q14, Q41)."""
    bmc = bmc_with()
    if document is not None:
        bmc.documents[TASK] = document
    seen = drive(bmc, lambda driver: driver.task(TASK))
    assert seen.state == state


def test_a_task_hands_over_to_its_job() -> None:
    """OperationTransitionedToJob leads on to the job (Q42)."""
    job = "/redfish/v1/Managers/1/Jobs/JID_1"
    bmc = bmc_with()
    bmc.documents[TASK] = {
        "TaskState": "Completed",
        "Messages": [{"MessageId": "Update.1.0.OperationTransitionedToJob", "MessageArgs": [job]}],
    }
    bmc.documents[job] = {"JobState": "Running", "PercentComplete": 34, "Message": "flashing"}

    async def look(driver: RedfishBmc) -> TaskSeen:
        return await driver.task(TASK)

    assert drive(bmc, look) == TaskSeen(state="running", percent=34, message="flashing", monitor=job)


def test_tasks_that_hand_over_in_a_circle_end() -> None:
    """Two tasks that name each other are a bad answer, not an endless walk."""
    bmc = bmc_with()
    for one, other in (("1", "2"), ("2", "1")):
        messages = [{"MessageId": "Update.1.0.OperationTransitionedToJob", "MessageArgs": [f"/redfish/v1/TaskService/Tasks/{other}"]}]
        bmc.documents[f"/redfish/v1/TaskService/Tasks/{one}"] = {"TaskState": "Completed", "Messages": messages}
    with pytest.raises(TemporaryError):
        drive(bmc, lambda driver: driver.task(TASK))
