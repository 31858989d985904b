"""A person's signature, made by OpenSSH's own `ssh-keygen -Y sign`: it asks for passphrases, agents and touches by itself."""

import subprocess
from pathlib import Path

from metalwright.model.errors import InputError

DEADLINE_S = 180.0
"""A security key waits for a touch, a passphrase for its owner."""


def public_line(key: Path) -> str:
    """`type base64` of a key file, or of the .pub file beside it. InputError when neither can be read."""
    public = key if key.suffix == ".pub" else key.with_name(key.name + ".pub")
    try:
        words = public.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{public}: {error}", hint="--key takes a key of ssh-keygen; its .pub file lies beside it") from error
    if len(words) < 2:
        raise InputError(f"{public} is no public key", hint=f"ssh-keygen -y -f {key} > {public}")
    return " ".join(words[:2])


def sign_as_person(key: Path, namespace: str, message: bytes) -> bytes:
    """The armored signature. InputError with ssh-keygen's own words when there is none."""
    command = ["ssh-keygen", "-Y", "sign", "-f", str(key), "-n", namespace]
    try:
        done = subprocess.run(command, input=message, capture_output=True, check=False, timeout=DEADLINE_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(
            f"ssh-keygen did not sign: {error}", hint="it is in Debian's openssh-client; touch the key when it blinks"
        ) from error
    if done.returncode != 0:
        words = done.stderr.decode("utf-8", "replace").strip()[:300]
        raise InputError(f"ssh-keygen did not sign with {key}: {words}", hint="ssh-add the key, or name its private file")
    return done.stdout
