"""data/accelerators.toml → `AcceleratorProfile`s. TOML, because `judge` answers within a second and the standard library reads it."""

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files

from pydantic import TypeAdapter, ValidationError

from metalwright.model.accelerator import AcceleratorProfile
from metalwright.model.errors import InputError, InvariantError


@cache
def accelerators() -> Mapping[str, AcceleratorProfile]:
    """Name → its newest version."""
    return parse(files("metalwright.data").joinpath("accelerators.toml").read_text(encoding="utf-8"))


def parse(text: str) -> Mapping[str, AcceleratorProfile]:
    """InvariantError when the shipped file is damaged."""
    try:
        rows = tomllib.loads(text)["profile"]
        read = TypeAdapter(tuple[AcceleratorProfile, ...]).validate_python(rows)
    except (tomllib.TOMLDecodeError, KeyError, ValidationError) as error:
        raise InvariantError(f"data/accelerators.toml is damaged: {error}", hint="install metalwright again") from error
    return {profile.name: profile for profile in sorted(read, key=lambda one: one.version)}


def named(name: str) -> AcceleratorProfile:
    """By its name, or by a beginning of it that fits one platform without a limit (`hgx-h100` is `hgx-h100-8`)."""
    library = accelerators()
    if name in library:
        return library[name]
    fits = [profile for profile in library.values() if profile.name.startswith(f"{name}-") and not profile.limits]
    if len(fits) == 1:
        return fits[0]
    known = ", ".join(library)
    raise InputError(f"there is no profile {name}" if not fits else f"{name} fits {_names(fits)}", hint=f"one of: {known}")


def of_model(model: str, gpus: int) -> AcceleratorProfile | None:
    """The platform that a model is built for; where there are several, the one with that many GPUs. None when unknown."""
    fits = [profile for profile in accelerators().values() if model in profile.models and not profile.limits]
    if len(fits) > 1:
        fits = [profile for profile in fits if profile.gpus == gpus]
    if not fits:
        fits = [profile for profile in accelerators().values() if model in profile.models]
    return fits[0] if len(fits) == 1 else None


def _names(profiles: Iterable[AcceleratorProfile]) -> str:
    return ", ".join(profile.name for profile in profiles)
