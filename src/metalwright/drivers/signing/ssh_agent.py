"""An Ed25519 key in an SSH agent (draft-ietf-sshm-ssh-agent): it signs, and never leaves the agent.

The agent signs any bytes it is given, so the signatures are plain Ed25519 and nobody sees that an agent made them.
"""

import os
import socket
from dataclasses import dataclass

from metalwright.evidence.errors import Refused
from metalwright.evidence.ssh_wire import Reader, string
from metalwright.model.errors import InputError, TemporaryError

SIGN_REQUEST, SIGN_RESPONSE = 13, 14
DEADLINE_S = 30.0
"""An agent may ask a person to confirm; longer than that, the round fails and is tried again."""
MAX_ANSWER_BYTES = 256 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentKey:
    """`public_key`: 32 bytes of Ed25519; `path`: of the agent's socket, `SSH_AUTH_SOCK` when empty."""

    public_key: bytes
    path: str = ""

    def sign(self, payload: bytes) -> bytes:
        """TemporaryError while the agent is away, locked, or has not this key."""
        blob = string(b"ssh-ed25519") + string(self.public_key)
        answer = self._ask(bytes([SIGN_REQUEST]) + string(blob) + string(payload) + bytes(4))
        try:
            reader = Reader(answer, "agent")
            if reader.take(1)[0] != SIGN_RESPONSE:
                raise TemporaryError("the SSH agent does not sign with the log key", hint="ssh-add the key, or unlock the agent")
            signature = Reader(reader.string(), "agent")
            if signature.text() != "ssh-ed25519":
                raise Refused("agent", "a signature of another type")
            return signature.string()
        except Refused as refused:
            raise TemporaryError(f"the SSH agent's answer: {refused}", hint="is SSH_AUTH_SOCK the socket of an SSH agent?") from refused

    def _ask(self, request: bytes) -> bytes:
        path = self.path or os.environ.get("SSH_AUTH_SOCK", "")
        if not path:
            raise InputError("the log key is in an SSH agent, and SSH_AUTH_SOCK is not set", hint="start the agent, ssh-add the key")
        try:
            with socket.socket(socket.AF_UNIX) as agent:
                agent.settimeout(DEADLINE_S)
                agent.connect(path)
                agent.sendall(string(request))
                length = int.from_bytes(_exactly(agent, 4), "big")
                if length > MAX_ANSWER_BYTES:
                    raise TemporaryError("the SSH agent's answer is too long", hint="is SSH_AUTH_SOCK the socket of an SSH agent?")
                return _exactly(agent, length)
        except OSError as error:
            raise TemporaryError(f"no answer of the SSH agent at {path}: {error}", hint="start the agent, ssh-add the key") from error


def _exactly(agent: socket.socket, length: int) -> bytes:
    found = b""
    while len(found) < length:
        piece = agent.recv(length - len(found))
        if not piece:
            raise ConnectionError("it hung up")
        found += piece
    return found
