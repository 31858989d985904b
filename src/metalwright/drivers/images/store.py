"""The built images of a site (`ports.ImageStore`): `SITE/images-built/<name>@<version>/` with `manifest.json` and `frames.zst`."""

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from metalwright.codec.json_codec import digest_of, from_bytes
from metalwright.drivers.images.format import BLOB, MANIFEST
from metalwright.model.errors import InputError, InvariantError
from metalwright.model.ids import Digest
from metalwright.model.image import BuiltImage, ImageManifest

FOLDER = "images-built"
BUILDING = ".building-"
CHUNK = 1 << 20


class FolderImageStore:
    """Images are put in whole or not at all; an altered one is refused."""

    def __init__(self, site: Path) -> None:
        self._folder = site / FOLDER

    def names(self) -> tuple[str, ...]:
        """Every `name@version` that is there, whole or not."""
        if not self._folder.is_dir():
            return ()
        return tuple(sorted(path.name for path in self._folder.iterdir() if path.name[0] != "." and (path / MANIFEST).exists()))

    def find(self, name_and_version: str) -> BuiltImage:
        """The image, its blob's size checked; InputError when it is not built or not readable. `verify` reads every byte."""
        folder = self._path(name_and_version)
        try:
            data = (folder / MANIFEST).read_bytes()
            size = (folder / BLOB).stat().st_size
        except OSError as error:
            raise InputError(f"image {name_and_version} is not built", hint="metalwright image build SITE") from error
        manifest = _manifest(data, name_and_version, folder)
        wanted = max((frame.stored_offset + frame.stored_length for frame in manifest.frames), default=0)
        if size != wanted:
            what = f"image {name_and_version} is altered: its blob has {size} bytes, not {wanted}"
            raise InputError(what, hint=_again(folder))
        return BuiltImage(digest=digest_of(data), manifest=manifest)

    def verify(self, name_and_version: str) -> BuiltImage:
        """As `find`, and the blob's digest is the manifest's."""
        built = self.find(name_and_version)
        digest = hashlib.sha256()
        with (self._path(name_and_version) / BLOB).open("rb") as blob:
            while chunk := blob.read(CHUNK):
                digest.update(chunk)
        if digest.hexdigest() != built.manifest.blob_sha256:
            what = f"image {name_and_version} is altered: its blob has another digest than its manifest says"
            raise InputError(what, hint=_again(self._path(name_and_version)))
        return built

    def manifest_bytes(self, digest: Digest) -> bytes:
        """The exact bytes behind the digest; InputError when no image has it."""
        return self._by_digest(digest)[1]

    def blob_path(self, digest: Digest) -> str:
        return str(self._by_digest(digest)[0] / BLOB)

    def put(self, name_and_version: str, make: Callable[[Path], BuiltImage]) -> BuiltImage:
        """Let `make` fill a scratch folder, then move it in place: a killed build leaves nothing that looks built."""
        target = self._path(name_and_version)
        self._folder.mkdir(exist_ok=True)
        self._remove_dead_builds()
        scratch = Path(tempfile.mkdtemp(prefix=BUILDING, dir=self._folder))
        with _locked(scratch):
            try:
                built = make(scratch)
                if target.exists():
                    shutil.rmtree(target)
                os.replace(scratch, target)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
        return built

    def _remove_dead_builds(self) -> None:
        """A builder holds a lock on its scratch folder, and the kernel frees a killed one's."""
        for scratch in self._folder.glob(f"{BUILDING}*"):
            with contextlib.suppress(BlockingIOError, FileNotFoundError), _locked(scratch):
                shutil.rmtree(scratch, ignore_errors=True)

    def _path(self, name_and_version: str) -> Path:
        if "/" in name_and_version or name_and_version.startswith("."):
            raise InputError(f"{name_and_version!r} is no image name", hint="name@version")
        return self._folder / name_and_version

    def _by_digest(self, digest: Digest) -> tuple[Path, bytes]:
        for name in self.names():
            data = (self._folder / name / MANIFEST).read_bytes()
            if digest_of(data) == digest:
                return self._folder / name, data
        raise InputError(f"no built image has digest {digest}", hint="metalwright image list SITE")


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _manifest(data: bytes, name: str, folder: Path) -> ImageManifest:
    try:
        return from_bytes(ImageManifest, data)
    except InvariantError as error:
        raise InputError(f"image {name} is altered: its manifest cannot be read", hint=_again(folder)) from error


def _again(folder: Path) -> str:
    return f"put {folder} back from a copy, or delete it and run: metalwright image build SITE"
