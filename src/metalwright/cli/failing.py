"""How a verb ends that could not answer: words on standard error, JSON on standard output when asked, and never exit code 1 or 2."""

import json
import logging
import os
import sys
from collections.abc import Callable
from typing import Any

from metalwright.model.errors import InputError, MetalwrightError, SpecError

EXIT_BAD_INPUT, EXIT_COULD_NOT_RUN = 3, 4
INTERRUPTED, NOBODY_READS = 130, 141
"""128 and the signal's number, as shells say it: SIGINT, SIGPIPE."""

log = logging.getLogger(__name__)


def exit_code_of(run: Callable[[], int], *, as_json: bool) -> int:
    """What `run` returns once its whole answer is written, or the code of what kept it from answering."""
    try:
        code = run()
        sys.stdout.flush()  # here, where a full disk still changes the exit code
    except MetalwrightError as error:
        return _said(error, as_json=as_json)
    except KeyboardInterrupt:
        print("interrupted: run the same command again to go on", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        return _without_output(NOBODY_READS)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _without_output(_said(MetalwrightError(f"{where}{error.strerror or error}"), as_json=False))
    except Exception as error:  # the process's border: Python would exit with 1, and 1 is a red verdict
        log.info("the defect", exc_info=True)
        hint = "this is a defect of metalwright: run it again with -v before the verb, and report what it prints"
        return _said(MetalwrightError(f"{type(error).__name__}: {error}", hint=hint), as_json=as_json)
    return code


def _said(error: MetalwrightError, *, as_json: bool) -> int:
    code = EXIT_BAD_INPUT if isinstance(error, SpecError | InputError) else EXIT_COULD_NOT_RUN
    problems = error.problems if isinstance(error, SpecError) else ()
    if as_json:
        told: dict[str, Any] = {"exit_code": code, "message": error.message, "hint": error.hint}
        if problems:
            told["problems"] = [
                {"file": each.file, "line": each.line, "path": each.path, "message": each.message, "hint": each.hint} for each in problems
            ]
        print(json.dumps({"error": told}, indent=2, ensure_ascii=False), flush=True)
    if problems:
        print(f"{error}\n{len(problems)} problem{'s' if len(problems) != 1 else ''}.", file=sys.stderr)
        return code
    print(f"metalwright: {error.message}", file=sys.stderr)
    if error.hint:
        print(f"  hint: {error.hint}", file=sys.stderr)
    return code


def _without_output(code: int) -> int:
    """Nothing more can be written there: what is still buffered goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code
