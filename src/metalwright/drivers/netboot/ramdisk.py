"""The RAM disk a machine boots over the network: a Debian kernel, busybox, Python and the agent; nothing listens in it.

`build_ramdisk` makes `vmlinuz` and `initrd` from Debian packages once and keeps them under the digest of everything that went in.
Sources: Linux Documentation/admin-guide/initrd.rst and driver-api/early-userspace; modules.dep(5).
"""

import os
import re
import stat
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import zstandard

from metalwright.drivers.debian.agent_source import INSTALLED_PACKAGE, agent_files
from metalwright.drivers.debian.cache import cache_folder
from metalwright.drivers.debian.cpio import CpioEntry, write_cpio
from metalwright.drivers.debian.tree import SOURCE_DATE_EPOCH, TreeRecipe, build_tree, file_sha256, inputs_digest
from metalwright.model.errors import InputError

HERE = Path(__file__).parent
AGENT_ENTRIES = ("metalwright.agent.main",)
FORMAT = "1"
"""Raise it when this file changes what comes out."""

ZSTD_LEVEL = 19
"""Smaller to fetch, no slower to unpack: zstd's unpacking speed hardly depends on the level."""


class KernelFlavour(StrEnum):
    """Which Debian kernel. `CLOUD` has the drivers of virtual machines only; `GENERIC` those of servers: 20 MB instead of 11."""

    CLOUD = "cloud-amd64"
    GENERIC = "amd64"


MODULES: Mapping[KernelFlavour, tuple[str, ...]] = {
    KernelFlavour.CLOUD: (r"/virtio_net\.ko", r"/virtio_pci\.ko", r"/virtio-rng\.ko"),
    KernelFlavour.GENERIC: (
        r"/drivers/net/ethernet/", r"/virtio_(net|pci|blk)\.ko", r"/virtio-rng\.ko", r"/drivers/nvme/host/nvme\.ko",
        r"/drivers/ata/ahci\.ko", r"/drivers/scsi/(sd_mod|mpt3sas/|megaraid/)", r"/drivers/char/(tpm|ipmi)/",
        r"/drivers/infiniband/hw/mlx5/",
    ),
}  # fmt: skip
"""Paths of wanted kernel modules; what they depend on comes along."""

KEPT = re.compile(
    r"(usr/bin/(python3\.\d+|busybox|zstd)"
    r"|usr/lib/python3(\.\d+)?(/.*)?"
    r"|usr/lib(64|/x86_64-linux-gnu)/(ld-linux-x86-64|lib(c|m|z|expat|crypto|ssl|ffi|zstd|lz4|lzma|bz2|gcc_s))[.-].*"
    r"|bin|sbin|lib|lib64|usr|usr/(bin|sbin|lib|lib64|lib/x86_64-linux-gnu))$"
)
"""What of the packages goes in: an allow list, since most of a Debian system has no use here."""

APPLETS = (
    "awk", "cat", "dmesg", "echo", "find", "grep", "ip", "ls", "modprobe", "mount", "poweroff", "reboot", "sed", "sh", "sleep", "sort",
    "tr", "udhcpc", "uname", "xargs",
)  # fmt: skip
FOLDERS = ("dev", "etc", "proc", "run", "sys", "tmp", "root")


@dataclass(frozen=True, slots=True, kw_only=True)
class RamDisk:
    """The two files to serve. `digest` is `sha256:<hex>` over both contents: what a boot script or evidence may cite."""

    vmlinuz: Path
    initrd: Path
    digest: str


def build_ramdisk(
    cache: Path | None = None,
    *,
    kernel: KernelFlavour = KernelFlavour.CLOUD,
    suite: str = "bookworm",
    python: str = "python3.11",
    package: Path = INSTALLED_PACKAGE,
) -> RamDisk:
    """The RAM disk for these inputs, built if the cache has none. About 20 s and 150 MB of temporary space; needs the Debian mirror.

    InputError: a tool is missing. TemporaryError: the mirror. `package` is the metalwright folder the agent is taken from.
    """
    agent = agent_files(AGENT_ENTRIES, package)
    recipe = _recipe(suite, kernel, python)
    folder = (cache or cache_folder()) / "ramdisk" / _key(recipe, kernel, agent)
    if not (folder / "initrd").exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="metalwright-ramdisk-") as work:
            _build(recipe, kernel, agent, Path(work), folder)
    return _read(folder)


def _recipe(suite: str, kernel: KernelFlavour, python: str) -> TreeRecipe:
    packages = (f"{python}-minimal", f"lib{python}-stdlib", "zstd", "busybox-static", "kmod", f"linux-image-{kernel}")
    return TreeRecipe(suite=suite, variant="extract", packages=packages)


def _key(recipe: TreeRecipe, kernel: KernelFlavour, agent: Mapping[str, bytes]) -> str:
    own = (HERE / name for name in ("ramdisk_init.sh", "ramdisk_hook.sh", "ramdisk_udhcpc.sh"))
    sources = (part for item in agent.items() for part in item)
    return inputs_digest([FORMAT, repr(recipe), kernel, *MODULES[kernel], KEPT.pattern, *APPLETS, *(p.read_bytes() for p in own), *sources])


def _build(recipe: TreeRecipe, kernel: KernelFlavour, agent: Mapping[str, bytes], work: Path, folder: Path) -> None:
    """initrd is renamed into place last: its presence says that the folder is whole."""
    work.chmod(0o755)
    stage = work / "agent"
    for name, content in agent.items():
        (stage / name).parent.mkdir(parents=True, exist_ok=True)
        (stage / name).write_bytes(content)
    tar = work / "tree.tar"
    hook = f'sh {HERE / "ramdisk_hook.sh"} "$1" {stage}'
    build_tree(TreeRecipe(suite=recipe.suite, variant=recipe.variant, packages=recipe.packages, hooks=(hook,)), tar)
    with tarfile.open(tar) as opened:
        tree = _Tree(opened)
        (work / "vmlinuz").write_bytes(tree.kernel())
        entries = [*tree.entries(kernel), *_own_entries(tree.python, folder.name)]
    archive = b"".join(write_cpio(entries, SOURCE_DATE_EPOCH))
    (work / "initrd").write_bytes(zstandard.ZstdCompressor(level=ZSTD_LEVEL, write_checksum=True).compress(archive))
    for name in ("vmlinuz", "initrd"):
        _move(work / name, folder / name)


class _Tree:
    """The unpacked packages, as tar members by relative name."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar
        self._members = {member.name.removeprefix("./"): member for member in tar.getmembers()}
        self.python = next((name for name in self._members if re.fullmatch(r"usr/bin/python3\.\d+", name)), "")
        if not self.python:
            raise InputError("the tree has no Python", hint="the suite's Python package has another name: give `python=`")

    def kernel(self) -> bytes:
        """The one kernel of the tree."""
        names = sorted(name for name in self._members if name.startswith("boot/vmlinuz-"))
        if len(names) != 1:
            raise InputError(f"expected one kernel in the tree, found {len(names)}")
        return self._bytes(self._members[names[0]])

    def entries(self, kernel: KernelFlavour) -> Iterator[CpioEntry]:
        """Everything that goes in from packages."""
        modules = self._modules(kernel)
        folders = {str(parent) for name in modules for parent in Path(name).parents}
        for name, member in self._members.items():
            if KEPT.match(name) or name in modules or (name in folders and member.isdir()):
                yield self._entry(name, member)

    def _modules(self, kernel: KernelFlavour) -> set[str]:
        """Names of the wanted modules, of what they need, and of the lookup files modprobe reads."""
        index = next(name for name in self._members if re.fullmatch(r"(usr/)?lib/modules/[^/]+/modules\.dep", name))
        base = index.rpartition("/")[0]
        needs = dict(_dependencies(self._bytes(self._members[index]).decode()))
        wanted = re.compile("|".join(MODULES[kernel]))
        names = {path for path in needs if wanted.search(f"/{path}")}
        names |= {need for path in names for need in needs[path]}
        return {f"{base}/{name}" for name in names} | {f"{base}/modules.{kind}" for kind in ("dep", "alias", "builtin", "softdep")}

    def _entry(self, name: str, member: tarfile.TarInfo) -> CpioEntry:
        if member.isdir():
            return CpioEntry(name=name, mode=stat.S_IFDIR | 0o755)
        if member.issym():
            return CpioEntry(name=name, mode=stat.S_IFLNK | 0o777, data=member.linkname.encode())
        if member.isreg() or member.islnk():
            return CpioEntry(name=name, mode=stat.S_IFREG | (member.mode & 0o755), data=self._bytes(member))
        raise InputError(f"unexpected kind of file in a package: {name}")

    def _bytes(self, member: tarfile.TarInfo) -> bytes:
        opened = self._tar.extractfile(member)
        if opened is None:
            raise InputError(f"unreadable in the tree: {member.name}")
        return opened.read()


def _dependencies(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Lines of modules.dep: `path: dependency …`, all dependencies listed already."""
    for line in text.splitlines():
        path, _, needs = line.partition(":")
        yield path, tuple(needs.split())


def _own_entries(python: str, digest: str) -> Iterator[CpioEntry]:
    """What no package brings: init, its helper, device nodes needed before devtmpfs, links, mount points."""
    regular, link = stat.S_IFREG | 0o755, stat.S_IFLNK | 0o777
    yield CpioEntry(name="init", mode=regular, data=(HERE / "ramdisk_init.sh").read_bytes())
    yield CpioEntry(name="udhcpc.sh", mode=regular, data=(HERE / "ramdisk_udhcpc.sh").read_bytes())
    yield CpioEntry(name="ramdisk-digest", mode=stat.S_IFREG | 0o644, data=f"{digest[:16]}\n".encode())
    yield CpioEntry(name="usr/bin/python3", mode=link, data=Path(python).name.encode())
    yield from (CpioEntry(name=f"usr/bin/{applet}", mode=link, data=b"busybox") for applet in APPLETS)
    yield from (CpioEntry(name=name, mode=stat.S_IFDIR | 0o755) for name in FOLDERS)
    yield CpioEntry(name="dev/console", mode=stat.S_IFCHR | 0o600, rdev=(5, 1))
    yield CpioEntry(name="dev/null", mode=stat.S_IFCHR | 0o666, rdev=(1, 3))


def _read(folder: Path) -> RamDisk:
    vmlinuz, initrd = folder / "vmlinuz", folder / "initrd"
    digest = inputs_digest((file_sha256(vmlinuz), file_sha256(initrd)))
    return RamDisk(vmlinuz=vmlinuz, initrd=initrd, digest=f"sha256:{digest}")


def _move(source: Path, target: Path) -> None:
    """Across file systems and still atomic: a reader never sees half a file."""
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    with source.open("rb") as reading, partial.open("wb") as writing:
        while piece := reading.read(1 << 20):
            writing.write(piece)
        writing.flush()
        os.fsync(writing.fileno())
    partial.rename(target)
