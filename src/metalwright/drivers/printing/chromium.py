"""HTML → PDF by a Chromium that is installed already, without a window and without a network.

Every distribution keeps a Chromium current, and the printed page is the page on the screen; a PDF library would be a second layout.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from metalwright.model.errors import InputError, TemporaryError

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
DEADLINE_S = 60.0
"""A cold start on a busy machine takes 10 s; a browser that takes a minute hangs."""


def find_chromium() -> str | None:
    """The first that is on the path."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def print_pdf(html: str, out: Path) -> None:
    """Write the PDF. InputError without a Chromium or without a place to write; TemporaryError when it fails or hangs."""
    browser = find_chromium()
    if browser is None:
        raise InputError("no Chromium to print with", hint="install one (apt install chromium), or use --html and print from any browser")
    try:
        # Beside the output: a Chromium in a snap sees neither /tmp nor hidden folders.
        with tempfile.TemporaryDirectory(prefix="print-", dir=out.absolute().parent) as scratch:
            made = _print(browser, html, Path(scratch))
            os.replace(made, out)
    except OSError as error:
        raise InputError(f"{error.filename or out}: {error.strerror}", hint="name a file in a folder that is yours") from error


def _print(browser: str, html: str, scratch: Path) -> Path:
    source, made = scratch / "page.html", scratch / "page.pdf"
    source.write_text(html, encoding="utf-8")
    command = [browser, "--headless", "--disable-gpu", "--no-first-run", "--no-pdf-header-footer", "--disable-extensions"]
    command += ["--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={scratch / 'profile'}"]
    command += ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium refuses root with it; the page is our own, without scripts
    try:
        done = subprocess.run(
            [*command, f"--print-to-pdf={made}", source.as_uri()], capture_output=True, timeout=DEADLINE_S, check=False, cwd=scratch
        )
    except subprocess.TimeoutExpired as error:
        raise TemporaryError(f"{browser} did not print within {DEADLINE_S:.0f} s", retry_after_s=0.0) from error
    if done.returncode != 0 or not made.is_file():
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise TemporaryError(f"{browser} did not print: {said[-1] if said else f'exit {done.returncode}'}", retry_after_s=0.0)
    return made
