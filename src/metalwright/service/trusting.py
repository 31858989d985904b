"""The trust file of a site, for people: what is in force, the draft of the next version, and its installation."""

from pathlib import Path

from metalwright.codec.site_folder import read_site
from metalwright.drivers.signing import rotation
from metalwright.drivers.signing.file_signer import TRUST
from metalwright.evidence.errors import Refused
from metalwright.evidence.papers import authority_digest
from metalwright.evidence.roots import ssh_root
from metalwright.evidence.trust import Trust, read_trust
from metalwright.model.errors import InputError
from metalwright.service.clock import SystemClock
from metalwright.service.state_folder import STATE

SIGNERS = "keys/allowed_signers"
MAX_FILE_BYTES = 1 << 20


def trust_in_force(folder: Path) -> Trust:
    """InputError for a site without a log, or a file that is none."""
    try:
        return read_trust(read_bounded(folder / STATE / TRUST), now=0.0)
    except OSError as error:
        raise InputError(f"{folder} has no log yet", hint=f"metalwright apply {folder} makes it") from error
    except Refused as refused:
        raise InputError(str(refused), hint="put the state folder back from a backup") from refused


def draft_trust(
    folder: Path,
    *,
    new_key: bool,
    key_place: bytes | None,
    roots: tuple[str, ...] | None,
    threshold: int | None,
    endorse_people: bool,
) -> bytes:
    """What the root keys sign. `roots`: `type base64` each. InputError when it makes no sense."""
    trust_in_force(folder)
    changes: dict[str, object] = {}
    try:
        if roots is not None:
            changes["roots"] = tuple(ssh_root(line) for line in roots)
        if threshold is not None:
            changes["threshold"] = threshold
        if endorse_people:
            changes["authority"] = authority_digest(read_signers(folder), read_site(folder).spec.responsible)
        return rotation.draft(folder / STATE, SystemClock().now(), new_key=new_key, key_place=key_place, **changes)
    except Refused as refused:
        raise InputError(str(refused), hint="a root key is a .pub file of ssh-keygen") from refused


def install_trust(folder: Path, payload: bytes, signatures: list[bytes]) -> None:
    """InputError when signatures are missing, or the log grew since the draft."""
    trust_in_force(folder)
    rotation.install(folder / STATE, payload, signatures, SystemClock().now())


def read_signers(folder: Path) -> bytes:
    """`keys/allowed_signers`; InputError where there is none."""
    try:
        return read_bounded(folder / SIGNERS)
    except OSError as error:
        raise InputError(f"{folder / SIGNERS}: {error.strerror}", hint="one line per person: docs/people.md") from error


def read_bounded(file: Path) -> bytes:
    """A small file, one byte more than any may have at most; its reader refuses that."""
    with file.open("rb") as stream:
        return stream.read(MAX_FILE_BYTES + 1)
