"""The spec and the plan gate, judged from files alone: no state folder, no network."""

import time
from pathlib import Path

from metalwright.codec.site_folder import read_site
from metalwright.drivers.images.store import FolderImageStore
from metalwright.gates.judge import judge_site
from metalwright.model.case import SiteCase
from metalwright.model.errors import InputError
from metalwright.model.ids import Digest
from metalwright.model.image import BuiltImage
from metalwright.model.judgement import GateVerdict
from metalwright.model.spec import StoredSpec


def check_site(folder: Path) -> tuple[StoredSpec, GateVerdict]:
    """Read the folder (SpecError with every problem) and judge the plan gate."""
    stored = read_site(folder)
    images: dict[str, BuiltImage] = {}
    problems: dict[str, str] = {}
    if stored.spec.system is not None:
        name = stored.spec.system.image
        try:
            images[name] = FolderImageStore(folder).find(name)
        except InputError as error:
            problems[name] = error.message
    case = SiteCase(
        now=time.time(),
        spec_digest=Digest(stored.digest),
        spec=stored.spec,
        profiles=stored.profiles,
        overrides=stored.overrides,
        images=images,
        image_problems=problems,
    )
    return stored, judge_site(case)
