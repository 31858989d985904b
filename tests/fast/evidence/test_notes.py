"""Signed notes, checkpoints and cosignatures against published vectors."""

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from metalwright.evidence.checkpoint import Head, checkpoint_text, read_checkpoint
from metalwright.evidence.errors import Refused
from metalwright.evidence.notes import ED25519, NoteKey, cosign_note, open_note, read_note_key, sign_note, split_note
from tests.fast.evidence.small_log import MemorySigner

# c2sp.org/signed-note, test vector.
EXAMPLE_KEY = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
EXAMPLE_NOTE = (
    "This is an example message.\n\n"
    "\u2014 example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n"
)
# golang.org/x/mod, sumdb/note: verifier key, signer key and the note they make.
PETER_KEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
PETER_SECRET = "AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
PETER_TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
PETER_NOTE = (
    f"{PETER_TEXT}\n\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)
# A checkpoint of a public staging log, signed by the log (RFC 6962 form and Ed25519) and cosigned by public witnesses.
ARCHE_KEY = "arche2025h1.staging.ct.transparency.dev+ba2f06c0+AU0vHmlGCS/PdN8b2OaGmKprLI8HKM+dJ472xgFYh15f"
REMORA_KEY = "remora.n621.de+da77ade7+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2"
ARCHE_NOTE = """arche2025h1.staging.ct.transparency.dev
1432088532
U7WM79jrzyhGZ5/GUBTpM7NzwdyfFx61t3RovgcC4Ro=

\u2014 arche2025h1.staging.ct.transparency.dev zTM8sQAAAZ5W0WdjBAMARjBEAiBjW5IQf9pvsYLfQFX6hoGREPMHbdQ3urbllzalApkptQIgIpwtEroeW2BXaHAI4kJXFbon5Ch9MNL5zRNZ55lvGt0=
\u2014 arche2025h1.staging.ct.transparency.dev ui8GwCF1+kWqZrxGdhj4aX3gcw7XUlXQQabg/27lefwhUkzbC3NygNI75MdhL1bfTW9g8Ei59RA23oHP7Ry1k3ZFWwQ=
\u2014 transparency.dev/DEV:witness-little-garden 2AQqhwAAAABqEiEgzgFIqqhbUoDwjMWE6UP8nd8/KYTzwZ2rhIgcqoXHAwVkjZr4AscylP3v7sEodkRAErumC2q44vdgJY096st5BQ==
\u2014 witness1.smartit.nu/witness1 pIyCDwAAAABqEiEghIp82KWebrw7/oHQwlTAm3g2RKS4+eebl8eO0WH+/iEcxZ75W3u5hNI7TOQtmJbqmNWVuE0tgh0XwzdZsDsUAQ==
\u2014 remora.n621.de 2net5wAAAABqEiEgPlfF3V06o0Y+fHM+J5J9s27wgxxcOVSpZ/2g/KSiXCg9DEZI+aVCIobWX9sXTynk5XeU/zZ0WBxtqB0DrAWfBw==
\u2014 witness.stagemole.eu Z/euoAAAAABqEiEgw0i+7g2ENfDAWHmtRzCfKTHSDwYDJA2NmKeGi9Y8FtEyOUvVr+AJmIY/2TUFucgKi7lI7cUiOvKFYe/TmN9DAg==
"""  # noqa: E501
# c2sp.org/signed-note, the example of the format: a text with an empty line and letters beyond ASCII.
POEM = (
    "Ognuno sta solo sul cuor della terra\ntrafitto da un raggio di sole:\n\ned \u00e8 subito sera.\n\n"
    "\u2014 quasimodo.example/salvatore NnugSzTjtVAewIS+Z/iJhUPeFDkO/5QQ2i5ddnGITLlC+EhfLW9oJKONrMouFSQU0xMcXxj99ihAQwaqP3ZekRwNtIc=\n"
)


@pytest.mark.parametrize("key", [EXAMPLE_KEY, PETER_KEY, ARCHE_KEY, REMORA_KEY])
def test_published_keys_are_read_and_written(key: str) -> None:
    """Every published verifier key has the id that we compute, and comes back as it was; one with another id is refused."""
    assert str(read_note_key(key, "key")) == key
    name, identity, material = key.split("+", 2)
    for wrong in (f"{name}+00000000+{material}", f"{name}x+{identity}+{material}", f"+{identity}+{material}", f"{name}+{identity}+", "x"):
        with pytest.raises(Refused):
            read_note_key(wrong, "key")


def test_published_notes_open() -> None:
    """The notes of the specification and of Go verify under their keys."""
    assert open_note(EXAMPLE_NOTE, [read_note_key(EXAMPLE_KEY, "key")], "note").text == "This is an example message.\n"
    assert open_note(PETER_NOTE, [read_note_key(PETER_KEY, "key")], "note").text == PETER_TEXT
    text, signatures = split_note(POEM, "note")
    assert text.endswith("sole:\n\ned \u00e8 subito sera.\n") and [name for name, _, _ in signatures] == ["quasimodo.example/salvatore"]


def test_our_notes_are_the_published_ones() -> None:
    """With Go's published key we sign the very bytes that Go signs."""
    secret = Ed25519PrivateKey.from_private_bytes(base64.b64decode(PETER_SECRET)[1:])
    assert sign_note(PETER_TEXT, read_note_key(PETER_KEY, "key"), secret.sign) == PETER_NOTE


def test_a_real_cosigned_checkpoint_opens() -> None:
    """The log's Ed25519 signature and the witness's cosignature verify; the others are of keys that we do not know."""
    note = open_note(ARCHE_NOTE, [read_note_key(ARCHE_KEY, "key"), read_note_key(REMORA_KEY, "key")], "checkpoint")
    assert [(signed.by.name.partition(".")[0], signed.at_s) for signed in note.signed] == [("arche2025h1", None), ("remora", 0x6A122120)]
    assert note.unknown == 4
    head = read_checkpoint(note.text)
    assert (head.size, checkpoint_text(head)) == (1432088532, note.text)


@pytest.mark.parametrize("at", range(0, len(ARCHE_NOTE.partition("\n\n")[0]), 5))
def test_no_letter_of_a_checkpoint_can_change(at: int) -> None:
    """Neither signature holds for any other text."""
    changed = ARCHE_NOTE[:at] + ("A" if ARCHE_NOTE[at] != "A" else "B") + ARCHE_NOTE[at + 1 :]
    for key in (ARCHE_KEY, REMORA_KEY):
        with pytest.raises(Refused):
            open_note(changed, [read_note_key(key, "key")], "checkpoint")


def test_a_wrong_signature_of_a_known_key_refuses_the_note() -> None:
    """Even beside a good one: signed-note, "clients SHOULD reject the whole note"."""
    log, witness = MemorySigner(seed=1), MemorySigner(seed=2)
    known = [NoteKey(name="log", type=ED25519, key=log.public), witness.witness("w")]
    good = cosign_note(sign_note("a\n1\nb\n", known[0], log.sign), known[1], 7, witness.sign)
    assert [signed.at_s for signed in open_note(good, known, "note").signed] == [None, 7]
    body, first, last = good.rpartition("\n\n")[0], *good.splitlines()[-2:]
    for line in (first, last):
        bad = line[:-6] + ("AAAA" if line[-6:-2] != "AAAA" else "BBBB") + line[-2:]
        with pytest.raises(Refused, match=r"wrong|second spelling"):
            open_note(f"{body}\n\n{first}\n{last}\n{bad}\n", known, "note")


def test_a_plain_signature_is_no_cosignature() -> None:
    """The types are apart: neither passes for the other, although the key is one."""
    signer = MemorySigner()
    plain = NoteKey(name="w", type=ED25519, key=signer.public)
    with pytest.raises(Refused, match="not signed by any"):
        open_note(sign_note("a\n", plain, signer.sign), [signer.witness("w")], "note")
    with pytest.raises(Refused, match="malformed"):
        open_note(sign_note("a\n", signer.witness("w"), signer.sign), [signer.witness("w")], "note")


@pytest.mark.parametrize(
    "note",
    [
        "",
        "text\n",
        "text\n\n",
        "\n\n\u2014 a b\n",
        "text\n\n- example.com/foo AAAAAAAA\n",
        "text\n\n\u2014 example.com/foo  AAAAAAAA\n",
        "text\n\n\u2014 exam+ple AAAAAAAA\n",
        "text\n\n\u2014 example.com/foo AAAAAAAB=\n",
        "text\n\n\u2014 example.com/foo AAAA\n",
        "te\rxt\n\n\u2014 example.com/foo AAAAAAAA\n",
        "te\x00xt\n\n\u2014 example.com/foo AAAAAAAA\n",
        "text\n\n\u2014 example.com/foo AAAAAAAA",
        "text\n\n" + "\u2014 example.com/foo AAAAAAAA\n" * 100,
        "x" * 300_000 + "\n\n\u2014 example.com/foo AAAAAAAA\n",
        EXAMPLE_NOTE.replace("\n", "\r\n"),
    ],
)
def test_malformed_notes_are_refused(note: str) -> None:
    """With words, never with another error."""
    with pytest.raises(Refused):
        open_note(note, [read_note_key(EXAMPLE_KEY, "key")], "note")


@pytest.mark.parametrize(
    "text",
    [
        "o\n1\n",
        "o\n1\nU7WM79jrzyhGZ5/GUBTpM7NzwdyfFx61t3RovgcC4Ro=",
        "o\n01\nU7WM79jrzyhGZ5/GUBTpM7NzwdyfFx61t3RovgcC4Ro=\n",
        "o\n+1\nU7WM79jrzyhGZ5/GUBTpM7NzwdyfFx61t3RovgcC4Ro=\n",
        "o\n\u0661\nU7WM79jrzyhGZ5/GUBTpM7NzwdyfFx61t3RovgcC4Ro=\n",
        "o\n1\nU7WM79jrzyhGZ5/GUBTpM7NzwdyfFx61t3RovgcC4Rp=\n",
        "o\n1\nU7WM79jr\n",
        "\n1\nU7WM79jrzyhGZ5/GUBTpM7NzwdyfFx61t3RovgcC4Ro=\n",
        "o\n0\nU7WM79jrzyhGZ5/GUBTpM7NzwdyfFx61t3RovgcC4Ro=\n",
        "o\n1\nU7WM79jrzyhGZ5/GUBTpM7NzwdyfFx61t3RovgcC4Ro=\nextension\n",
        "o\n" + "9" * 40 + "\nU7WM79jrzyhGZ5/GUBTpM7NzwdyfFx61t3RovgcC4Ro=\n",
    ],
)
def test_checkpoints_have_one_spelling(text: str) -> None:
    """No second way to write a size or a root, and nothing beside them."""
    with pytest.raises(Refused):
        read_checkpoint(text)
    head = Head(origin="o", size=1, root=b"r" * 32)
    assert read_checkpoint(checkpoint_text(head)) == head
