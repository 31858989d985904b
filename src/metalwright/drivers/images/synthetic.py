"""An image of seeded bytes for a simulated site: it has the shape of a system image and boots nothing real."""

import random
from pathlib import Path

from metalwright.drivers.images.format import MIB, RawImage, cut
from metalwright.model.image import BuiltImage
from metalwright.model.spec import ImageRecipe

KERNEL = "6.1.0-metalwright-simulated"
"""What a simulated machine says it runs once installed."""
FILLED = 0.55
"""Share of the image that is not empty: a system image is mostly empty too."""


def build_synthetic(recipe: ImageRecipe, folder: Path) -> BuiltImage:
    """The same recipe gives the same digest."""
    raw = folder / "raw"
    source = random.Random(f"{recipe.name}@{recipe.version}/{recipe.seed}")  # noqa: S311  # reproducible bytes, not a secret
    size = max(8, recipe.size_mib) * MIB
    with raw.open("wb") as out:
        out.truncate(size)
        for offset in range(0, int(size * FILLED), MIB):
            if offset % (8 * MIB) == 7 * MIB:
                continue
            out.seek(offset)
            out.write(source.randbytes(MIB // 2) + bytes(MIB // 2))
    system_offset = 4 * MIB
    image = RawImage(
        path=raw,
        name=recipe.name,
        version=recipe.version,
        builder="synthetic",
        system_offset=system_offset,
        system_length=int(size * FILLED) // MIB * MIB - system_offset,
        packages=recipe.packages,
        kernel=KERNEL,
    )
    built = cut(image, folder, frame_bytes=max(1, recipe.frame_mib) * MIB)
    raw.unlink()
    return built
