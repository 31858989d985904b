"""The command line: one file per verb, imported only when that verb is used."""

import argparse
import io
import logging
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from metalwright import __version__
from metalwright.cli.failing import NOBODY_READS, exit_code_of
from metalwright.model.errors import InputError

VERBS = (
    "init",
    "check",
    "plan",
    "apply",
    "adopt",
    "status",
    "explain",
    "gate",
    "waive",
    "approve",
    "evidence",
    "node",
    "image",
    "simulate",
    "judge",
    "fabric",
    "work",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb. Exit codes: 0 yes, 1 red, 2 undetermined, 3 bad input or spec, 4 could not run."""
    _prepare_streams()
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return exit_code_of(lambda: _run(given), as_json="--json" in given)
    except BrokenPipeError:  # the words of an error found no reader either
        return NOBODY_READS


def _run(given: list[str]) -> int:
    args = _parser(given).parse_args(given)
    logging.basicConfig(level=logging.INFO if args.verbose else logging.ERROR, format="%(asctime)s %(name)s %(message)s")
    for name in ("uvicorn.error", "uvicorn.access"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return int(args.run(args))


class _Parser(argparse.ArgumentParser):
    """A usage error is bad input like any other."""

    def error(self, message: str) -> NoReturn:
        raise InputError(message, hint=" ".join(self.format_usage().split()))


def _parser(given: list[str]) -> argparse.ArgumentParser:
    parser = _Parser(prog="metalwright", description="From racking to the first training run, with signed evidence.")
    parser.add_argument("--version", action="version", version=f"metalwright {__version__}")
    parser.add_argument("-v", "--verbose", action="store_true", help="log what the service does to standard error")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    wanted = next((word for word in given if word in VERBS), None)
    for verb in [wanted] if wanted else VERBS:
        import_module(f"metalwright.cli.{verb}").add_parser(verbs)
    return parser


def _prepare_streams() -> None:
    """A terminal without UTF-8 gets `\\xd7` rather than no answer at all; without any output the exit code still answers."""
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # open until the process ends
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
