"""A real system image: Debian with a read-only root, a unified kernel image and the agent, as one raw disk.

`build_system_image` makes, without loop device and without mounting anything: a GPT disk with an EFI system partition (the unified kernel
image at the path firmware looks for) and the system slot (ext2, read-only). It boots by UEFI only. Sources: UEFI 2.10, 3.5.1.1 (removable
media path) and 5.3 (GPT); UAPI group, "Unified Kernel Image" and "Discoverable Partitions".
"""

import json
import os
import re
import tarfile
import tempfile
import uuid
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from metalwright.drivers.debian.agent_source import INSTALLED_PACKAGE, agent_files
from metalwright.drivers.debian.cache import cache_folder
from metalwright.drivers.debian.tree import SOURCE_DATE_EPOCH, TreeRecipe, build_tree, inputs_digest, require_tools, run_tool
from metalwright.drivers.images.format import MIB, RawImage, cut
from metalwright.drivers.images.system_files import system_files, system_links
from metalwright.model.errors import InputError
from metalwright.model.image import BuiltImage
from metalwright.model.spec import ImageRecipe

HERE = Path(__file__).parent
FORMAT = "1"
"""Raise it when this file changes what comes out."""

AGENT_ENTRIES = ("metalwright.agent.installed",)
DEFAULT_KERNEL = "linux-image-cloud-amd64"
BASE_PACKAGES = (
    "systemd-sysv", "udev", "dbus", "iproute2", "kmod", "systemd-boot-efi", "python3.11-minimal", "libpython3.11-stdlib", "zstd"
)  # fmt: skip
"""dbus is there for logind, and logind for the power button: a BMC's graceful shutdown presses it."""
TOOLS = ("mmdebstrap", "genext2fs", "mkfs.vfat", "mcopy", "mmd", "sfdisk", "objcopy")

NOTE = "image.json"
"""Beside the disk: what is known of it."""

SECTOR = 512
BLOCK = 4096
ESP_OFFSET = MIB
ESP_BYTES = 64 * MIB
"""Room for two unified kernel images of a cloud kernel (15 MB each) and for one of a generic kernel with firmware."""

NAMESPACE = uuid.UUID("6f1f6b5e-52c3-4f0a-9b57-0d4d45574c31")
ESP_TYPE = "C12A7328-F81F-11D2-BA4B-00A0C93EC93B"
ROOT_TYPE = "4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709"
"""Partition types: EFI system; x86-64 root."""

STUB = "usr/lib/systemd/boot/efi/linuxx64.efi.stub"
SECTIONS = (("osrel", 0x20000), ("cmdline", 0x30000), ("linux", 0x2000000))
"""Where the stub finds its parts (systemd-stub(7)); the addresses only must not overlap."""


def build_debian(recipe: ImageRecipe, folder: Path, *, cache: Path | None = None) -> BuiltImage:
    """The built image, cut into frames in `folder`. Errors as `build_system_image`."""
    return cut(build_system_image(recipe, cache), folder, frame_bytes=max(1, recipe.frame_mib) * MIB)


def build_system_image(recipe: ImageRecipe, cache: Path | None = None, *, package: Path = INSTALLED_PACKAGE) -> RawImage:
    """The disk for this recipe, built if the cache has none; the same recipe, packages and agent give the same bytes.

    About a minute and 1.5 GB of temporary space. InputError: not this builder, a tool or package missing, an image larger than
    `size_mib`. TemporaryError: the mirror. `package` is the metalwright folder the agent is taken from.
    """
    if recipe.builder != "mmdebstrap":
        raise InputError(f"image {recipe.name}: builder {recipe.builder!r} is not mmdebstrap")
    folder = (cache or cache_folder()) / "images" / recipe_digest(recipe, package)
    if not (folder / NOTE).exists():
        require_tools(*TOOLS)
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="build-", dir=folder) as work:
            built = _build(recipe, Path(work), package)
            built.path.rename(folder / "disk.raw")
            _write_note(replace(built, path=folder / "disk.raw"), folder)
    return _read_note(folder)


def _build(recipe: ImageRecipe, work: Path, package: Path) -> RawImage:
    tree = work / "tree.tar"
    _build_tree(recipe, tree, package)
    with tarfile.open(tree) as opened:
        parts = _split(opened, work / "root.tar")
    system = _system_slot(work)
    identity = _identities(inputs_digest((recipe_digest(recipe, package),)))
    command_line = f"root=PARTUUID={identity['root']} ro rootfstype=ext2 rootwait quiet {recipe.kernel_command_line}".strip()
    _efi_partition(parts, command_line, identity["volume"], work)
    return _assemble(recipe, parts, system, identity, work)


def _write_note(image: RawImage, folder: Path) -> None:
    """Last, and renamed into place: its presence says that the folder is whole."""
    facts = {name: value for name, value in asdict(image).items() if name != "path"}
    (folder / f"{NOTE}.new").write_text(json.dumps(facts))
    (folder / f"{NOTE}.new").rename(folder / NOTE)


def _read_note(folder: Path) -> RawImage:
    try:
        facts = json.loads((folder / NOTE).read_text())
        image = RawImage(path=folder / "disk.raw", **{**facts, "packages": tuple(facts["packages"])})
        if image.path.stat().st_size < image.system_offset + image.system_length:
            raise InputError(f"the cached image in {folder} is too short", hint=f"remove {folder}")
    except (OSError, ValueError, TypeError, KeyError) as broken:
        raise InputError(f"the cached image in {folder} is unreadable: {broken}", hint=f"remove {folder}") from broken
    return image


def recipe_digest(recipe: ImageRecipe, package: Path = INSTALLED_PACKAGE) -> str:
    """Hex digest of everything that decides the image but the Debian mirror: the cache key of a build."""
    sources = (part for item in agent_files(AGENT_ENTRIES, package).items() for part in item)
    own = ((HERE / name).read_bytes() for name in ("mmdebstrap.py", "mmdebstrap_hook.sh", "system_files.py"))
    return inputs_digest((FORMAT, repr(recipe), *own, *sources))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    kernel: bytes
    kernel_version: str
    stub: bytes
    os_release: bytes
    packages: tuple[str, ...]


def _packages(recipe: ImageRecipe) -> tuple[str, ...]:
    has_kernel = any(name.startswith("linux-image-") for name in recipe.packages)
    return tuple(dict.fromkeys((*BASE_PACKAGES, *(() if has_kernel else (DEFAULT_KERNEL,)), *recipe.packages)))


def _build_tree(recipe: ImageRecipe, tree: Path, package: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="metalwright-image-") as name:
        stage = Path(name)
        stage.chmod(0o755)
        for path, content in agent_files(AGENT_ENTRIES, package).items():
            _write(stage / "agent" / path, content)
        for path, text in system_files(recipe.name, recipe.version).items():
            _write(stage / "system" / path, text.encode())
        for path, target in system_links().items():
            (stage / "system" / path).parent.mkdir(parents=True, exist_ok=True)
            (stage / "system" / path).symlink_to(target)
        hook = f'sh {HERE / "mmdebstrap_hook.sh"} "$1" {stage}'
        build_tree(TreeRecipe(suite=recipe.suite, variant="minbase", packages=_packages(recipe), hooks=(hook,)), tree)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(0o644)


def _split(tree: tarfile.TarFile, root: Path) -> _Parts:
    """Kernel, stub and names out of the tree; the rest, in order of names, into `root`."""
    members = {member.name.removeprefix("./"): member for member in tree.getmembers()}
    kernels = sorted(name for name in members if name.startswith("boot/vmlinuz-"))
    if len(kernels) != 1 or STUB not in members:
        raise InputError(f"the tree holds {len(kernels)} kernels and needs one, with the stub of systemd-boot-efi")
    with tarfile.open(root, "w", format=tarfile.GNU_FORMAT) as written:
        for name in sorted(members):
            if not re.match(r"boot/|vmlinuz|initrd\.img|dev/|proc/|sys/|run/", name):
                member = replace_times(members[name])
                written.addfile(member, tree.extractfile(member) if member.isreg() else None)
    return _Parts(
        kernel=_bytes(tree, members[kernels[0]]),
        kernel_version=kernels[0].removeprefix("boot/vmlinuz-"),
        stub=_bytes(tree, members[STUB]),
        os_release=_bytes(tree, members["usr/lib/os-release"]),
        packages=tuple(_bytes(tree, members["usr/share/metalwright-packages"]).decode().splitlines()),
    )


def replace_times(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """One time stamp for all, whatever the package's was: the image does not say when it was built."""
    member.mtime = SOURCE_DATE_EPOCH
    member.pax_headers = {}
    return member


def _bytes(tree: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    opened = tree.extractfile(member)
    if opened is None:
        raise InputError(f"unreadable in the tree: {member.name}")
    return opened.read()


def _system_slot(work: Path) -> Path:
    """ext2 from the tar, whole MiB. genext2fs, because mke2fs -d copies time stamps of the build into the result."""
    root, slot = work / "root.tar", work / "system.ext2"
    with tarfile.open(root) as opened:
        members = opened.getmembers()
    blocks = sum(-(-member.size // BLOCK) for member in members) + 2 * sum(member.isdir() for member in members)
    inodes = len(members) + 64
    blocks += inodes * 128 // BLOCK + blocks // 256  # inode tables, indirect blocks
    size = -(-(blocks * BLOCK + 8 * MIB) // MIB) * MIB
    arguments = ["genext2fs", "--block-size", str(BLOCK), "--size-in-blocks", str(size // BLOCK), "--number-of-inodes", str(inodes)]
    run_tool([*arguments, "--reserved-percentage", "0", "--faketime", "--tarball", str(root), str(slot)])
    return slot


def _identities(digest: str) -> dict[str, str]:
    """Every id of the disk, made from the digest of what went in."""
    ids = {what: str(uuid.uuid5(NAMESPACE, f"{digest}/{what}")) for what in ("disk", "esp", "root")}
    return {**ids, "volume": digest[:8]}


def _efi_partition(parts: _Parts, command_line: str, volume: str, work: Path) -> None:
    """Unified kernel image at the removable-media path of a FAT file system."""
    for name, content in (("stub", parts.stub), ("osrel", parts.os_release), ("cmdline", command_line.encode()), ("linux", parts.kernel)):
        (work / name).write_bytes(content)
    added = [word for name, _ in SECTIONS for word in ("--add-section", f".{name}={work / name}")]
    moved = [word for name, at in SECTIONS for word in ("--change-section-vma", f".{name}={at:#x}")]
    run_tool(["objcopy", *added, *moved, str(work / "stub"), str(work / "uki.efi")])
    (work / "uki.efi").write_bytes(without_build_time((work / "uki.efi").read_bytes()))
    os.utime(work / "uki.efi", (SOURCE_DATE_EPOCH, SOURCE_DATE_EPOCH))
    esp = work / "esp.fat"
    with esp.open("wb") as opened:
        opened.truncate(ESP_BYTES)
    run_tool(["mkfs.vfat", "--invariant", "-F", "32", "-s", "1", "-i", volume, "-n", "ESP", str(esp)])
    run_tool(["mmd", "-i", str(esp), "::EFI", "::EFI/BOOT"])
    run_tool(["mcopy", "-m", "-i", str(esp), str(work / "uki.efi"), "::EFI/BOOT/BOOTX64.EFI"])


def without_build_time(image: bytes) -> bytes:
    """A PE file with a fixed time stamp and no checksum (PE format, "COFF File Header", "Optional Header"): objcopy writes the clock."""
    header = int.from_bytes(image[0x3C:0x40], "little")
    if image[header : header + 4] != b"PE\0\0":
        raise InputError("the unified kernel image is no PE file", hint="is this objcopy built for x86-64 UEFI?")
    fixed = bytearray(image)
    fixed[header + 8 : header + 12] = SOURCE_DATE_EPOCH.to_bytes(4, "little")
    fixed[header + 88 : header + 92] = bytes(4)
    return bytes(fixed)


def _assemble(recipe: ImageRecipe, parts: _Parts, system: Path, identity: dict[str, str], work: Path) -> RawImage:
    disk, size = work / "disk.raw", recipe.size_mib * MIB
    system_offset, system_length = ESP_OFFSET + ESP_BYTES, system.stat().st_size
    if system_offset + system_length + 4 * MIB > size:
        needed = (system_offset + system_length) // MIB + 4
        raise InputError(f"image {recipe.name}: {needed} MiB do not fit into size_mib {recipe.size_mib}", hint=f"set size_mib: {needed}")
    disk.unlink(missing_ok=True)
    with disk.open("wb") as opened:
        opened.truncate(size)
    table = (
        f"label: gpt\nlabel-id: {identity['disk']}\nunit: sectors\n"
        f"start={ESP_OFFSET // SECTOR}, size={ESP_BYTES // SECTOR}, type={ESP_TYPE}, uuid={identity['esp']}, name=esp\n"
        f"start={system_offset // SECTOR}, size={system_length // SECTOR}, type={ROOT_TYPE}, uuid={identity['root']}, name=system\n"
    )
    run_tool(["sfdisk", "--quiet", "--no-reread", "--no-tell-kernel", str(disk)], stdin=table.encode())
    _copy_sparse(work / "esp.fat", disk, ESP_OFFSET)
    _copy_sparse(system, disk, system_offset)
    return RawImage(
        path=disk, name=recipe.name, version=recipe.version, builder=recipe.builder, system_offset=system_offset,
        system_length=system_length, packages=parts.packages, kernel=parts.kernel_version,
    )  # fmt: skip


def _copy_sparse(source: Path, target: Path, offset: int) -> None:
    """Leaves holes for zeros."""
    with source.open("rb") as reading, target.open("r+b") as writing:
        while piece := reading.read(64 * 1024):
            if piece.strip(b"\0"):
                writing.seek(offset)
                writing.write(piece)
            offset += len(piece)
