"""The command line: one file per verb, imported only when that verb is used."""

import argparse
import io
import logging
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from metalwright import __version__
from metalwright.model.errors import InputError, InvariantError, MachineFault, MetalwrightError, SpecError, TemporaryError

VERBS = ("init", "check", "plan", "apply", "status", "explain", "gate", "evidence", "node", "image", "simulate", "judge", "fabric")

EXIT_BAD_INPUT, EXIT_COULD_NOT_RUN = 3, 4
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb. Exit codes: 0 yes, 1 red, 2 undetermined, 3 bad input or spec, 4 could not run."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without UTF-8 gets `\\xd7` rather than no answer at all
            stream.reconfigure(errors="backslashreplace")
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(prog="metalwright", description="From racking to the first training run, with signed evidence.")
    parser.add_argument("--version", action="version", version=f"metalwright {__version__}")
    parser.add_argument("-v", "--verbose", action="store_true", help="log what the service does to standard error")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    wanted = next((word for word in given if word in VERBS), None)
    for verb in [wanted] if wanted else VERBS:
        import_module(f"metalwright.cli.{verb}").add_parser(verbs)
    try:
        args = parser.parse_args(given)
    except SystemExit as done:  # argparse ends the process by itself; a usage error is bad input
        return 0 if done.code in (0, None) else EXIT_BAD_INPUT
    logging.basicConfig(level=logging.INFO if args.verbose else logging.ERROR, format="%(asctime)s %(name)s %(message)s")
    for name in ("uvicorn.error", "uvicorn.access"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return _run(args)


def _run(args: argparse.Namespace) -> int:
    try:
        return int(args.run(args))
    except SpecError as error:
        print(error, file=sys.stderr)
        print(f"{len(error.problems)} problem{'s' if len(error.problems) != 1 else ''}.", file=sys.stderr)
        return EXIT_BAD_INPUT
    except InputError as error:
        return _say(error, EXIT_BAD_INPUT)
    except (TemporaryError, MachineFault, InvariantError, MetalwrightError) as error:
        return _say(error, EXIT_COULD_NOT_RUN)
    except KeyboardInterrupt:
        print("interrupted: run the same command again to go on", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _say(error: MetalwrightError, code: int) -> int:
    print(f"metalwright: {error.message}", file=sys.stderr)
    if error.hint:
        print(f"  hint: {error.hint}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
