"""Runs `ipmitool` against one BMC. The password goes through the environment, never through arguments; each call has a deadline."""

import asyncio
import os
from dataclasses import dataclass
from urllib.parse import urlsplit

from metalwright.model.errors import InputError, MachineFault, MetalwrightError, TemporaryError
from metalwright.model.secret import Secret

_MOST_OUTPUT = 256 * 1024
_CIPHER_SUITES = ("17", "3")
"""SHA-256 first, SHA-1 for older BMCs. Naming one also spares the query for the list, which some answer only after 5 s."""
_NO_SUCH_SUITE = ("invalid authentication algorithm", "no matching cipher suite", "invalid integrity algorithm")
_BAD_ACCOUNT = ("unauthorized name", "hmac is invalid", "insufficient resources", "invalid user", "password")


@dataclass(frozen=True, slots=True)
class Address:
    """Where IPMI over LAN listens."""

    host: str
    port: int


def address_of(url: str) -> Address:
    """`ipmi://10.20.0.11` or with a port; InputError for anything else."""
    try:
        parts = urlsplit(url)
        port = parts.port or 623
    except ValueError as error:
        raise InputError(f"{url!r} is not an IPMI URL: {error}", hint="write it as ipmi://10.20.0.11") from error
    if parts.scheme != "ipmi" or not parts.hostname or parts.username or parts.password:
        raise InputError(f"{parts.scheme}:// is not an IPMI URL", hint="write it as ipmi://10.20.0.11, without an account")
    return Address(parts.hostname, port)


class IpmiTool:
    """`run` gives the output of one command."""

    def __init__(self, address: Address, account: tuple[Secret, Secret], timeout_s: float, program: str = "ipmitool") -> None:
        self.address = address
        self._account = account
        self._timeout_s = timeout_s
        self._program = program
        self._suites = list(_CIPHER_SUITES)

    async def run(self, *command: str) -> str:
        """TemporaryError when the BMC does not answer; MachineFault when it refuses the account or the command."""
        while True:
            code, output, errors = await self._call(self._suites[0], command)
            if code == 0:
                return output
            if len(self._suites) > 1 and any(words in (output + errors).lower() for words in _NO_SUCH_SUITE):
                self._suites.pop(0)
                continue
            raise self._failure(f"{output}\n{errors}")

    async def _call(self, suite: str, command: tuple[str, ...]) -> tuple[int, str, str]:
        user, password = self._account
        where = ("-I", "lanplus", "-H", self.address.host, "-p", str(self.address.port), "-C", suite)
        environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "IPMI_PASSWORD": password.reveal(), "LC_ALL": "C"}
        try:
            process = await asyncio.create_subprocess_exec(
                self._program, "-v", *where, "-U", user.reveal(), "-E", "-N", "2", "-R", "2", *command,
                stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=environment,
            )  # fmt: skip
        except OSError as error:
            raise MachineFault(f"{self._program} cannot be started: {error}", hint="install the package ipmitool") from error
        try:
            async with asyncio.timeout(self._timeout_s):
                output, errors = await process.communicate()
        except TimeoutError as error:
            message = f"{self.address.host}: no answer to {' '.join(command)} within {self._timeout_s:g} s"
            raise TemporaryError(message, retry_after_s=15.0) from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return process.returncode or 0, _text(output), _text(errors)

    def _failure(self, errors: str) -> MetalwrightError:
        lines = [line.strip() for line in errors.splitlines() if line.strip()]
        said = " ".join(lines[-2:])[:300]
        if any(words in errors.lower() for words in _BAD_ACCOUNT):
            hint = "check the BMC account, and that it may use IPMI over LAN as administrator"
            return MachineFault(f"{self.address.host}: the BMC refused the account ({said})", hint=hint)
        if "unable to establish" in errors.lower():
            return TemporaryError(f"{self.address.host}: {said}", retry_after_s=15.0, hint="is IPMI over LAN switched on?")
        return MachineFault(f"{self.address.host}: {said}", hint="this BMC does not take the command")


def _text(output: bytes) -> str:
    return output[:_MOST_OUTPUT].decode("utf-8", "replace")
