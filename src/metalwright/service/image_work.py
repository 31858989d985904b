"""Builds, lists and verifies a site's images."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from metalwright.codec.site_folder import read_site
from metalwright.drivers.images.mmdebstrap import build_debian
from metalwright.drivers.images.store import FolderImageStore
from metalwright.drivers.images.synthetic import build_synthetic
from metalwright.drivers.netboot.ramdisk import KernelFlavour, RamDisk, build_ramdisk
from metalwright.model.errors import InputError
from metalwright.model.image import BuiltImage
from metalwright.model.spec import ImageRecipe, StoredSpec

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageResult:
    """`state`: built, present, whole or altered."""

    name: str
    state: str
    digest: str = ""
    detail: str = ""


def build_images(site: Path, only: str | None, say: Say) -> list[ImageResult]:
    """Every declared image that is not built; an image already there is left as it is."""
    stored = read_site(site)
    store = FolderImageStore(site)
    recipes = [recipe for recipe in stored.spec.images if only in (None, name_of(recipe))]
    if only is not None and not recipes:
        raise InputError(f"no recipe declares {only}", hint="see images/ in the site folder")
    made = [_build(store, recipe, say) for recipe in recipes]
    return made if only is not None or stored.spec.netboot.dhcp == "none" else [_ram_disk(stored, say), *made]


def ram_disk_of(stored: StoredSpec) -> RamDisk:
    """The site's RAM disk, from the cache or built: the generic kernel for real hardware, the small one for virtual machines."""
    return build_ramdisk(kernel=KernelFlavour.CLOUD if stored.spec.site.simulated else KernelFlavour.GENERIC)


def _ram_disk(stored: StoredSpec, say: Say) -> ImageResult:
    say("RAM disk …")
    disk = ram_disk_of(stored)
    return ImageResult(name="RAM disk", state="present", digest=disk.digest, detail=f"{disk.initrd.stat().st_size >> 20} MiB")


def list_images(site: Path, only: str | None, say: Say) -> list[ImageResult]:
    """What is built; InputError when the one that is named is not."""
    store = FolderImageStore(site)
    return [_state(store.find, name, "present") for name in _built(store, only)]


def verify_images(site: Path, only: str | None, say: Say) -> list[ImageResult]:
    """Every byte of what is built, read; InputError when the one that is named is not, or nothing is."""
    store = FolderImageStore(site)
    names = _built(store, only)
    if not names:
        raise InputError("no image is built: there is nothing to verify", hint=f"metalwright image build {site}")
    return [_state(store.verify, name, "whole") for name in names]


def _built(store: FolderImageStore, only: str | None) -> tuple[str, ...]:
    names = store.names()
    if only is not None and only not in names:
        raise InputError(f"image {only} is not built", hint=f"built are: {', '.join(names)}" if names else "metalwright image build SITE")
    return names if only is None else (only,)


def name_of(recipe: ImageRecipe) -> str:
    return f"{recipe.name}@{recipe.version}"


def _build(store: FolderImageStore, recipe: ImageRecipe, say: Say) -> ImageResult:
    name = name_of(recipe)
    if name in store.names():
        return _state(store.find, name, "present")
    say(f"building {name} with {recipe.builder} …")
    built = store.put(name, lambda folder: _builder(recipe.builder)(recipe, folder))
    used = sum(frame.length for frame in built.manifest.frames)
    stored = sum(frame.stored_length for frame in built.manifest.frames)
    frames = len(built.manifest.frames)
    detail = f"{built.manifest.size_bytes >> 20} MiB, {used >> 20} MiB of it used, {stored >> 20} MiB stored in {frames} frames"
    return ImageResult(name=name, state="built", digest=built.digest, detail=detail)


def _builder(name: str) -> Callable[[ImageRecipe, Path], BuiltImage]:
    if name == "synthetic":
        return build_synthetic
    if name == "mmdebstrap":
        return build_debian
    raise InputError(f"no builder {name}", hint="mmdebstrap or synthetic")


def _state(look: Callable[[str], BuiltImage], name: str, good: str) -> ImageResult:
    try:
        return ImageResult(name=name, state=good, digest=look(name).digest)
    except InputError as error:
        return ImageResult(name=name, state="altered", detail=error.message)
