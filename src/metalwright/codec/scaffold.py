"""`metalwright init`: writes a commented, valid site folder. The words come from `data/scaffolds/`, the rows from `scaffold_rows`."""

import os
import secrets
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from string import Template

from metalwright.codec.library import profiles
from metalwright.codec.notebook import did_you_mean, quote
from metalwright.codec.scaffold_cables import cable_rows
from metalwright.codec.scaffold_files import cables_csv, nodes_csv, packing_csv, packing_xlsx
from metalwright.codec.scaffold_kinds import KINDS, ScaffoldKind
from metalwright.codec.scaffold_rows import NodeRow, node_rows, part_rows
from metalwright.codec.shapes import fits_label
from metalwright.model.errors import InputError


def write_scaffold(folder: Path, kind: str, *, nodes: int | None = None, name: str | None = None) -> tuple[str, ...]:
    """Write the site folder and name the files written; InputError when the kind is unknown, the folder is not empty or cannot be written.

    `nodes` and `name` replace the kind's own number and the folder's name.
    """
    chosen = KINDS.get(kind)
    if chosen is None:
        raise InputError(f"there is no scaffold {quote(kind)}", hint=did_you_mean(kind, KINDS, "kinds"))
    site = name or _name_from(folder)
    if not fits_label(site):
        raise InputError(f"{quote(site)} is not a site name", hint="give one with --name: lower-case letters, digits and hyphens")
    try:
        content = _contents(chosen, site, chosen.nodes if nodes is None else nodes)
    except ValueError as error:
        raise InputError(str(error), hint="choose another --nodes") from error
    try:
        _write_all(folder, content)
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror or error}", hint="choose a folder that you may write to") from error
    return tuple(content)


def _contents(kind: ScaffoldKind, site: str, count: int) -> dict[str, bytes]:
    """File name → bytes. ValueError when the kind cannot have so many nodes."""
    rows = node_rows(kind, site, count)
    words = _words(kind, site, rows)
    parts = part_rows(kind, site, rows)
    content = {
        "site.yaml": _template(f"{kind.name}.site.yaml", words),
        "nodes.csv": nodes_csv(rows).encode(),
        f"packing-list.{kind.packing}": packing_xlsx(parts) if kind.packing == "xlsx" else packing_csv(parts).encode(),
        "images/trainer.yaml": _template(f"{kind.image_recipe}.image.yaml", words),
        "keys/allowed_signers": _template("allowed_signers.txt", words),
        ".gitignore": b"secrets/\n",
    }
    if kind.cables is not None:
        content["cables.csv"] = cables_csv(cable_rows(kind.cables, [row.name for row in rows])).encode()
    if kind.writes_secrets:
        content["secrets/bmc-user"] = b"metalwright\n"
        content["secrets/bmc-password"] = secrets.token_urlsafe(24).encode() + b"\n"
    return content


def _words(kind: ScaffoldKind, site: str, rows: Sequence[NodeRow]) -> dict[str, str]:
    gpus = len(rows) * profiles()[kind.profile].gpus
    racks = list(dict.fromkeys(row.rack for row in rows))
    return {
        "name": site,
        "nodes": str(len(rows)),
        "gpus": str(gpus),
        "gpus_half": str(gpus // 2),
        "gpus_quarter": str(gpus // 4),
        "profile": kind.profile,
        "racks": "\n".join(_rack_lines(rack, _rack_kw(kind), kind.cooling) for rack in racks),
    }


def _rack_kw(kind: ScaffoldKind) -> float:
    """What a full rack draws at most, and a tenth more for switches and fans."""
    return round(kind.nodes_per_rack * profiles()[kind.profile].max_watts / 1000 * 1.1, 1)


def _rack_lines(rack: str, kw: float, cooling: str) -> str:
    """Either feed alone carries the rack: that is what N+1 means here."""
    return (
        f"  - name: {rack}\n"
        f"    feeds: [{{name: A, kw: {kw:g}}}, {{name: B, kw: {kw:g}}}]\n"
        f"    redundancy: N+1\n"
        f"    cooling: {{kind: {cooling}, kw: {kw:g}}}"
    )


def _template(name: str, words: dict[str, str]) -> bytes:
    return Template(files("metalwright.data.scaffolds").joinpath(name).read_text(encoding="utf-8")).substitute(words).encode()


def _name_from(folder: Path) -> str:
    """The folder's own name, made a label."""
    kept = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in folder.absolute().name.lower())
    return kept.strip("-")[:40] or "site"


def _write_all(folder: Path, content: dict[str, bytes]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise InputError(f"{folder} is not empty", hint="choose a new folder: nothing is ever overwritten")
    for name, data in content.items():
        path = folder / name
        is_secret = name.startswith("secrets/")
        path.parent.mkdir(mode=0o700 if is_secret else 0o755, parents=True, exist_ok=True)
        mode = 0o600 if is_secret else 0o644
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(data)
