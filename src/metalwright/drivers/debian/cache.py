"""Where built RAM disks and images are kept, by the digest of what went in."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """`METALWRIGHT_CACHE`, or the user's cache folder."""
    given = os.environ.get("METALWRIGHT_CACHE")
    return Path(given) if given else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "metalwright"
