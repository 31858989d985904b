"""Files that are not what they seem: size, encoding, place and kind. Each is told at the line that named it."""

import os
import time
from pathlib import Path

import pytest

from metalwright.codec.site_files import YAML_LIMIT
from metalwright.codec.site_folder import read_site
from tests.fast.codec.small_site import FILES, NODES, SITE, problems_of, write_site

NAMED_NODES = SITE.splitlines().index("nodes: nodes.csv") + 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"# only a comment\n", "expected a block of keys"),
        (b"just words\n", "expected a block of keys"),
        (b"- a\n- b\n", "expected a block of keys"),
        (b"\xef\xbb\xbf" + SITE.encode(), "byte order mark"),
        (SITE.encode("utf-16"), "UTF-16"),
        (SITE.replace("atlas", "z\xfcrich").encode("latin-1"), "not UTF-8 text: byte 0xfc in line 2"),
        (b"\x00" * 100, "YAML forbids"),
        (b"%PDF-1.7\n" + bytes(range(128, 255)), "not UTF-8"),
    ],
    ids=["empty", "blank", "comment", "words", "list", "bom", "utf16", "latin1", "zeros", "pdf"],
)
def test_site_yaml_that_is_none(content: bytes, words: str, tmp_path: Path) -> None:
    """Whatever stands in site.yaml, there is one clear problem with a hint."""
    (found,) = problems_of(write_site(tmp_path, {"site.yaml": content}))
    assert words in found.message
    assert found.hint


def test_ten_megabytes_are_refused_at_once(tmp_path: Path) -> None:
    """A huge file is refused by its size, before it is read."""
    started = time.process_time()
    (found,) = problems_of(write_site(tmp_path, {"site.yaml": b"a: b\n" * 2_000_000}))
    assert "10 MiB, larger than 1 MiB" in found.message
    assert time.process_time() - started < 0.5


@pytest.mark.parametrize("piece", ["- {a: 1}\n", "x", "# y\n", "a: b\n", "? ", "- " * 10, "[a, ", "'", '"\\u0041', "\n", "|\n "])
def test_the_largest_accepted_yaml_ends_soon(piece: str, tmp_path: Path) -> None:
    """No text below the limit keeps the reader for long: what repeats endlessly is stopped by depth, count or size."""
    started = time.process_time()
    problems_of(write_site(tmp_path, {"site.yaml": (piece * (YAML_LIMIT // len(piece)))[:YAML_LIMIT]}))
    assert time.process_time() - started < 20


def test_a_folder_without_a_site(tmp_path: Path) -> None:
    """A wrong folder name is a clear problem too."""
    (found,) = problems_of(tmp_path / "nowhere")
    assert "site.yaml: no such file or directory" in found.message
    assert found.file == str(tmp_path / "nowhere" / "site.yaml")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("missing.csv", "no such file"),
        ("../nodes.csv", "leads outside the site folder"),
        ("images/../../nodes.csv", "leads outside the site folder"),
        ("/etc/passwd.csv", "leads outside the site folder"),
        ("link.csv", "a link that leads outside"),
        ("linked/nodes.csv", "a link that leads outside"),
        ("pipe.csv", "not a regular file"),
        ("folder.csv", "is a directory"),
        ("loop.csv", "loop.csv"),
        ("nodes.txt", "of a kind that is not read here"),
        ("n" * 300 + ".csv", "too long"),
    ],
)
def test_nodes_named_where_they_are_not(name: str, words: str, tmp_path: Path) -> None:
    """Missing, outside, linked away, no file at all: told at the line that named it, and nothing outside is read."""
    site = tmp_path / "site"
    site.mkdir()
    (tmp_path / "nodes.csv").write_text(NODES)
    (site / "link.csv").symlink_to(tmp_path / "nodes.csv")
    (site / "linked").symlink_to(tmp_path)
    (site / "loop.csv").symlink_to(site / "loop.csv")
    (site / "folder.csv").mkdir()
    os.mkfifo(site / "pipe.csv")
    (found,) = problems_of(write_site(site, {"site.yaml": SITE.replace("nodes: nodes.csv", f"nodes: {name}"), "nodes.csv": None}))
    assert words in found.message
    assert (found.line, found.path) == (NAMED_NODES, "nodes")


def test_a_link_inside_the_folder_is_fine(tmp_path: Path) -> None:
    """Configuration tools mount files as links: inside the folder they are read."""
    write_site(tmp_path, {"nodes.csv": None, "real-nodes.csv": NODES})
    (tmp_path / "nodes.csv").symlink_to("real-nodes.csv")
    assert len(read_site(tmp_path).spec.nodes) == 2


@pytest.mark.parametrize("pattern", ["*/trainer.yaml", "images/*", "images/*.*.yaml", "../*.yaml", "images/none-*.yaml"])
def test_a_bad_image_pattern(pattern: str, tmp_path: Path) -> None:
    """Patterns are narrow on purpose; another one is told, not guessed."""
    text = SITE.replace("images: images/*.yaml", f'images: "{pattern}"').replace("  image: trainer@2026.12", "  image: a@1")
    found = problems_of(write_site(tmp_path, {"site.yaml": text}))
    assert found[0].path == "images"


@pytest.mark.parametrize(
    "nodes",
    [
        "\ufeff" + NODES,
        NODES.replace(",", ";"),
        NODES.replace(",", "\t"),
        NODES.replace("\n", "\r\n"),
        "# our nodes\n\n" + NODES.replace("\n", "\n\n") + "# the end\n",
        NODES.replace("atlas02", ' "atlas02" '.strip()),
        NODES.replace("02:00:00:00:00:02", "02-00-00-00-00-02"),
        NODES.replace("https://10.20.0.12", "HTTPS://10.20.0.12/").replace("HTTPS", "https"),
    ],
    ids=["bom", "semicolons", "tabs", "crlf", "comments", "quotes", "mac", "slash"],
)
def test_csv_as_spreadsheets_write_it(nodes: str, tmp_path: Path) -> None:
    """A byte order mark, semicolons, CRLF and comments in CSV change nothing of the spec, nor of its digest."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert read_site(write_site(tmp_path / "a", {"nodes.csv": nodes})).digest == read_site(write_site(tmp_path / "b")).digest


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"name\x00,rack\n", "NUL"),
        (b"PK\x03\x04rest", "spreadsheet, not CSV"),
        (NODES.encode("utf-16"), "UTF-16"),
        (b'name,rack\n"' + b"x" * 200_000 + b'"\n', "not CSV"),
        (b"# nothing\n", "no header"),
    ],
)
def test_a_table_that_is_none(content: bytes, words: str, tmp_path: Path) -> None:
    """A table that cannot be read is told where it was named."""
    (found,) = problems_of(write_site(tmp_path, {"nodes.csv": content}))
    assert words in found.message
    assert found.line == NAMED_NODES


def test_inline_lists_are_as_good_as_files(tmp_path: Path) -> None:
    """Every list may stand in site.yaml itself, and means the same."""
    nodes = "nodes:\n" + "".join(
        "  - {{name: {}, rack: {}, unit: {}, profile: {}, serial: {}, bmc: '{}', boot_mac: '{}'}}\n".format(*line.split(","))
        for line in NODES.splitlines()[1:]
    )
    image = "images:\n  - {name: trainer, version: 2026.12, builder: mmdebstrap, packages: [chrony]}\n"
    text = SITE.replace("nodes: nodes.csv\n", nodes).replace("images: images/*.yaml\n", image)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    inline = read_site(write_site(tmp_path / "a", {"site.yaml": text, "nodes.csv": None, "images/trainer.yaml": None}))
    assert inline.digest == read_site(write_site(tmp_path / "b")).digest


def test_firmware_from_a_file(tmp_path: Path) -> None:
    """The firmware baseline may stand in CSV or YAML of its own."""
    inline = "firmware:\n  - {profile: compute, component: BMC, version: 24.0}\n"
    digests = set()
    for index, (name, text) in enumerate(
        {
            "fw.csv": "profile,component,version\ncompute,BMC,24.0\n",
            "fw.yaml": "- {profile: compute, component: BMC, version: 24.0}\n",
        }.items()
    ):
        folder = tmp_path / str(index)
        folder.mkdir()
        changes = {"site.yaml": SITE.replace(inline, f"firmware: {name}\n"), name: text}
        digests.add(read_site(write_site(folder, changes)).digest)
    assert digests == {read_site(write_site(tmp_path)).digest}
    assert FILES["site.yaml"] == SITE
