"""Runs dnsmasq for the provisioning network: checked before, restarted when it dies, gone when we are gone.

dnsmasq reads packets of strangers, so it never runs as root: setpriv(1) starts it as `nobody` with just the three capabilities it needs.
setpriv also sets the parent-death signal after the change of user, because changing it clears the signal (prctl(2)).
"""

import asyncio
import contextlib
import logging
import os
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from metalwright.drivers.debian.tree import last_words, require_tools, run_tool
from metalwright.drivers.netboot.dhcp_plan import DhcpPlan
from metalwright.drivers.netboot.dnsmasq_config import BIOS_LOADER, UEFI_LOADER, DnsmasqFiles, render_dnsmasq
from metalwright.model.errors import InputError

RUN = Path("/run")
"""dnsmasq reads its files as `nobody`, who may not enter a home folder; only root writes here."""
LOADERS = Path("/usr/lib/ipxe")
CAPABILITIES = "+net_admin,+net_raw,+net_bind_service"
READY = ": TFTP root is"
READY_TIMEOUT_S = 10.0
STOP_TIMEOUT_S = 5.0
RESTART_DELAY_S = 1.0
DEATHS_IN_A_ROW = 5
"""So many deaths before it was ever ready again end the service: something is wrong that a restart does not mend."""

log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class DnsmasqStatus:
    """What a status page shows. `log_lines` are the last hundred."""

    pid: int = 0
    starts: int = 0
    log_lines: list[str]


@contextlib.asynccontextmanager
async def serve_dnsmasq(plan: DhcpPlan, *, namespace: str | None = None) -> AsyncIterator[DnsmasqStatus]:
    """DHCP and TFTP answer inside the block. InputError: not root, a tool or loader missing, a configuration dnsmasq refuses.

    `namespace` is the network namespace to run in (`ip netns`); None is our own.
    """
    config = prepare(plan, RUN / f"metalwright-dnsmasq-{namespace or 'host'}-{plan.interface}")
    status = DnsmasqStatus(log_lines=[])
    first = await _start(config, namespace, status)
    async with asyncio.TaskGroup() as group:
        keeper = group.create_task(_keep_running(first, config, namespace, status))
        try:
            yield status
        finally:
            keeper.cancel()


def prepare(plan: DhcpPlan, folder: Path) -> Path:
    """Write the configuration and copy the loaders into `folder`; return the configuration file, checked by dnsmasq itself."""
    require_tools("dnsmasq", "setpriv", "ip")
    if os.geteuid() != 0:
        raise InputError("DHCP needs root: ports 67 and 69", hint="run as root, or set `netboot: dhcp: external` and use your own server")
    root = folder / "tftp"
    root.mkdir(parents=True, exist_ok=True)
    for shown in (folder, root):
        shown.chmod(0o755)
    for name in (BIOS_LOADER, UEFI_LOADER):
        if not (LOADERS / name).exists():
            raise InputError(f"{LOADERS / name} is missing", hint="install the package ipxe")
        shutil.copyfile(LOADERS / name, root / name)
    config = folder / "dnsmasq.conf"
    config.write_text(render_dnsmasq(plan, DnsmasqFiles(tftp_root=root)))
    config.chmod(0o644)
    run_tool(["dnsmasq", "--test", f"--conf-file={config}"], timeout_s=READY_TIMEOUT_S)
    return config


def command_line(config: Path, namespace: str | None) -> list[str]:
    """What is run. `--user=` stays empty: setpriv has changed it already."""
    enter = ["ip", "netns", "exec", namespace] if namespace else []
    drop = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--pdeathsig=KILL", "--no-new-privs"]
    drop += [f"--inh-caps=-all,{CAPABILITIES}", f"--ambient-caps=-all,{CAPABILITIES}", f"--bounding-set=-all,{CAPABILITIES}"]
    return [*enter, *drop, "dnsmasq", "--keep-in-foreground", "--log-facility=-", f"--conf-file={config}", "--pid-file="]


async def _keep_running(first: asyncio.subprocess.Process, config: Path, namespace: str | None, status: DnsmasqStatus) -> None:
    process, deaths = first, 0
    try:
        while deaths < DEATHS_IN_A_ROW:
            await _follow(process, status)
            log.warning("dnsmasq ended (%s); starting it again", process.returncode)
            await asyncio.sleep(RESTART_DELAY_S)
            try:
                process, deaths = await _start(config, namespace, status), 0
            except InputError:
                deaths += 1
    finally:
        await _stop(process)
    raise InputError(f"dnsmasq keeps ending: {_words(status)}", hint="is another DHCP server on this interface?")


async def _start(config: Path, namespace: str | None, status: DnsmasqStatus) -> asyncio.subprocess.Process:
    process = await asyncio.create_subprocess_exec(
        *command_line(config, namespace),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    status.pid, status.starts, is_ready = process.pid, status.starts + 1, False
    try:
        async with asyncio.timeout(READY_TIMEOUT_S):
            while not is_ready and (line := await _line(process, status)):
                is_ready = READY in line
    except TimeoutError:
        pass
    finally:
        if not is_ready:  # not even a cancelled start leaves a process behind
            await _stop(process)
    if is_ready:
        return process
    raise InputError(f"dnsmasq did not start: {_words(status)}", hint="is another DHCP server on this interface?")


async def _follow(process: asyncio.subprocess.Process, status: DnsmasqStatus) -> None:
    while await _line(process, status):
        pass
    await process.wait()


async def _line(process: asyncio.subprocess.Process, status: DnsmasqStatus) -> str:
    """The next line of the log, kept in the status; empty at the end. An overlong line counts as its own end of nothing."""
    if process.stderr is None:
        return ""
    try:
        raw = await process.stderr.readline()
    except ValueError:  # longer than the stream's limit: dropped by asyncio, go on
        return "(overlong line dropped)\n"
    if raw:
        status.log_lines.append(raw.decode(errors="replace").rstrip())
        del status.log_lines[:-100]
    return raw.decode(errors="replace")


def _words(status: DnsmasqStatus) -> str:
    return last_words("\n".join(status.log_lines))


async def _stop(process: asyncio.subprocess.Process) -> None:
    """By its own process handle only; waits, so that nothing is left behind."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
