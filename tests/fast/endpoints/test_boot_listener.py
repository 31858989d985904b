"""The boot listener: a token only for a machine that we started, images by ranges, and nothing else of the disk it runs on."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import pytest

from tests.fast.endpoints.listening import MAC, Listening

Site = Callable[[], AbstractAsyncContextManager[Listening]]


async def test_the_token_is_served_while_its_boot_is_open_and_unclaimed(site: Site) -> None:
    """Before the claim the script carries it, after the claim no script does."""
    async with site() as here:
        token = await here.grant()
        for mac in (MAC, MAC.upper(), MAC.replace(":", "-")):
            assert f"mw.token={token}".encode() in (await here.to_boot(f"/boot/{mac}.ipxe")).body
        await here.claim(token)
        assert b"mw.token" not in (await here.to_boot(f"/boot/{MAC}.ipxe")).body


@pytest.mark.parametrize(("opens_in", "expires_in"), [(30.0, 60.0), (-60.0, -1.0)], ids=["before our power-on", "too late"])
async def test_a_machine_that_we_did_not_start_gets_no_token(site: Site, opens_in: float, expires_in: float) -> None:
    """Outside the window the script says why, and waits."""
    async with site() as here:
        await here.grant(opens_in=opens_in, expires_in=expires_in)
        script = (await here.to_boot(f"/boot/{MAC}.ipxe")).body
        assert b"mw.token" not in script and b"no boot of this machine is ordered now" in script


async def test_a_stranger_is_told_so_and_an_installed_machine_goes_to_its_disk(site: Site) -> None:
    """A MAC address that is not in the site boots nothing of ours; a grant for an installed system means the disk."""
    async with site() as here:
        assert b"not in the site" in (await here.to_boot("/boot/02:ff:ff:ff:ff:ff.ipxe")).body
        await here.grant(stage="installed")
        assert (await here.to_boot(f"/boot/{MAC}.ipxe")).body.endswith(b"exit 1\n")


async def test_a_range_is_answered_with_its_bytes(site: Site) -> None:
    """206, the bytes, and where they lie; a range that ends behind the file ends with it."""
    async with site() as here:
        blob = here.blob.read_bytes()
        for wanted, start, end in (("0-0", 0, 1), ("5-9", 5, 10), ("100-", 100, len(blob)), ("10-" + 18 * "9", 10, len(blob))):
            answer = await here.to_boot(_frames(here), Range=f"bytes={wanted}")
            assert answer.status == 206 and answer.body == blob[start:end]
            assert answer.headers["content-range"] == f"bytes {start}-{end - 1}/{len(blob)}"


async def test_a_range_that_is_not_there_is_416(site: Site) -> None:
    """At and behind the end, and backwards."""
    async with site() as here:
        size = here.blob.stat().st_size
        for wanted in (f"{size}-", f"{size}-{size + 5}", "999999999999999999-", "9-5"):
            assert (await here.to_boot(_frames(here), Range=f"bytes={wanted}")).status == 416


async def test_what_is_no_plain_range_is_the_whole_file(site: Site) -> None:
    """As RFC 9110, 14.2 allows: the agent checks status and length."""
    async with site() as here:
        for wanted in ("", "bytes=-5", "bytes=0-1,3-4", "lines=0-5", "bytes=a-b", "bytes=" + 40 * "9" + "-", "bytes=0x0-1"):
            answer = await here.to_boot(_frames(here), Range=wanted)
            assert answer.status == 200 and len(answer.body) == here.blob.stat().st_size, wanted


async def test_only_reading_is_possible_and_only_of_what_is_published(site: Site) -> None:
    """Other methods are 405; paths that climb, other images and keys are 404; HEAD has the length and no body."""
    async with site() as here:
        assert (await here.to_boot(_frames(here), "POST")).status == 405
        other = f"/images/{'0' * 64}/frames.zst"
        for path in (
            "/",
            other,
            "/images/../site.db",
            f"{_frames(here)}/..",
            "/boot/../../etc/passwd",
            "/boot/zz.ipxe",
            "/.metalwright/boot.key",
        ):
            assert (await here.to_boot(path)).status == 404, path
        head = await here.to_boot(_frames(here), "HEAD")
        assert (head.status, head.body, head.headers["content-length"]) == (200, b"", str(here.blob.stat().st_size))


def _frames(here: Listening) -> str:
    return f"/images/{here.built.digest.removeprefix('sha256:')}/frames.zst"
