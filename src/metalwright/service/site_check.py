"""The spec and the plan gate, judged from files alone: no state folder, no network."""

import time
from pathlib import Path

from metalwright.codec.site_folder import read_site
from metalwright.drivers.images.store import FolderImageStore
from metalwright.gates.judge import judge_site
from metalwright.model.case import SiteCase, Waiver
from metalwright.model.errors import InputError
from metalwright.model.ids import Digest
from metalwright.model.image import BuiltImage
from metalwright.model.judgement import GateVerdict
from metalwright.model.spec import StoredSpec


def check_site(folder: Path) -> tuple[StoredSpec, GateVerdict]:
    """Read the folder (SpecError with every problem) and judge the plan gate."""
    stored = read_site(folder)
    return stored, judge_site(plan_case(folder, stored))


def plan_case(folder: Path, stored: StoredSpec, waivers: tuple[Waiver, ...] = ()) -> SiteCase:
    """What the plan gate is judged on."""
    name = stored.spec.system.image if stored.spec.system else ""
    image, problem = find_image(folder, name) if name else (None, "")
    return SiteCase(
        now=time.time(),
        spec_digest=Digest(stored.digest),
        spec=stored.spec,
        profiles=stored.profiles,
        overrides=stored.overrides,
        images={name: image} if image else {},
        image_problems={name: problem} if problem else {},
        waivers=waivers,
    )


def find_image(folder: Path, name: str) -> tuple[BuiltImage | None, str]:
    """The built image, or in words why there is none."""
    try:
        return FolderImageStore(folder).find(name), ""
    except InputError as error:
        return None, error.message + (f" ({error.hint})" if error.hint else "")
