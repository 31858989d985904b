"""Firmware: pulled by the BMC (SimpleUpdate), or pushed as multipart or as a plain body. Done is a version seen later, never a task."""

import secrets
from dataclasses import dataclass

import orjson

from metalwright.drivers.redfish.actions.context import Context, action_target
from metalwright.drivers.redfish.client import Document, RedfishClient
from metalwright.drivers.redfish.documents import identifier
from metalwright.drivers.redfish.failures import BmcFault, malformed
from metalwright.drivers.redfish.power import sorted_failure, started
from metalwright.model.bmc_actions import PullFirmware

_WHAT = "the firmware update"
_SIMPLE = "#UpdateService.SimpleUpdate"
_RUNNING = ("New", "Starting", "Running", "Pending", "Suspended", "Cancelling", "Stopping", "Service")
_FAILED = ("Exception", "Killed", "Cancelled", "Interrupted")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSeen:
    """`state`: `running`, `ended`, `failed`, or `gone` (vanished, as after a BMC reset: proves nothing, Q41)."""

    state: str
    percent: int | None = None
    message: str = ""
    monitor: str = ""
    """Where to look next: a task may hand over to a job (Q42)."""


async def pull_firmware(context: Context, action: PullFirmware) -> str:
    """Start a pull; the monitor's path, empty when the BMC names none."""
    service = await _service(context.client, context)
    body: Document = {"ImageURI": action.image_url, "TransferProtocol": action.image_url.partition(":")[0].upper()}
    if action.components:
        body["Targets"] = await _targets(context, service, action.components)
    answer = await context.client.ask("POST", action_target(service, _SIMPLE), body)
    return started(answer, _WHAT)


async def push_firmware(context: Context, image: bytes, components: tuple[str, ...] = ()) -> str:
    """Upload an image: multipart if the BMC has it, else a plain body (Q43). The monitor's path, empty when it names none."""
    service = await _service(context.client, context)
    multipart, plain = service.get("MultipartHttpPushUri"), service.get("HttpPushUri")
    if isinstance(multipart, str) and multipart:
        parameters = {"Targets": await _targets(context, service, components)} if components else {}
        boundary = secrets.token_hex(16)
        body = _multipart(boundary, parameters, image)
        return started(await context.client.upload(multipart, f"multipart/form-data; boundary={boundary}", body), _WHAT)
    if isinstance(plain, str) and plain:
        return started(await context.client.upload(plain, "application/octet-stream", image), _WHAT)
    raise BmcFault("this BMC takes no pushed firmware", hint="use a pull: PullFirmware with an URL the BMC can reach")


async def read_task(client: RedfishClient, monitor: str, *, hops: int = 3) -> TaskSeen:
    """One look at a task, job or monitor (Q39). 404 is `gone`: just after the start it may still appear (Q14)."""
    if hops == 0:
        raise malformed(monitor, "tasks that hand over without end")
    answer = await client.ask("GET", monitor)
    if answer.status == 404:
        return TaskSeen(state="gone", monitor=monitor)
    if not answer.is_ok:
        raise sorted_failure(answer, "reading the task")
    document = answer.document
    handed_over = _job_of(document)
    if handed_over is not None and handed_over != monitor:
        return await read_task(client, handed_over, hops=hops - 1)
    state = str(document.get("TaskState") or document.get("JobState") or "")
    percent = document.get("PercentComplete")
    seen = "failed" if state in _FAILED or "Fail" in state else "running" if answer.status == 202 or state in _RUNNING else "ended"
    if state in ("Scheduled", "Downloading", "Downloaded", "Waiting", "RebootPending"):
        seen = "running"
    message = document.get("Message") or document.get("TaskStatus") or ""
    whole = percent if isinstance(percent, int) and not isinstance(percent, bool) else None
    return TaskSeen(state=seen, percent=whole, message=str(message)[:300], monitor=monitor)


async def _service(client: RedfishClient, context: Context) -> Document:
    service = await context.document((await client.root()).get("UpdateService"))
    if service is None:
        raise BmcFault("this BMC has no update service")
    return service


async def _targets(context: Context, service: Document, components: tuple[str, ...]) -> list[str]:
    members = await context.members(service.get("FirmwareInventory"))
    known = {identifier(path, document): path for path, document in members}
    unknown = [component for component in components if component not in known]
    if unknown:
        raise BmcFault(f"no firmware components {', '.join(unknown)} on this BMC")
    return [known[component] for component in components]


def _multipart(boundary: str, parameters: Document, image: bytes) -> bytes:
    """Parameters first, even when empty: Dell wants the `{}` part (Q43)."""
    head = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="UpdateParameters"\r\nContent-Type: application/json\r\n\r\n'.encode()
        + orjson.dumps(parameters)
        + f'\r\n--{boundary}\r\nContent-Disposition: form-data; name="UpdateFile"; filename="firmware.bin"\r\n'.encode()
        + b"Content-Type: application/octet-stream\r\n\r\n"
    )
    return head + image + f"\r\n--{boundary}--\r\n".encode()


def _job_of(task: Document) -> str | None:
    """Where a task went on as a job: a message says so with the job's path as its argument."""
    messages = task.get("Messages")
    for message in messages if isinstance(messages, list) else []:
        if isinstance(message, dict) and str(message.get("MessageId", "")).endswith("OperationTransitionedToJob"):
            arguments = message.get("MessageArgs")
            if isinstance(arguments, list) and arguments and isinstance(arguments[0], str):
                return arguments[0]
    return None
