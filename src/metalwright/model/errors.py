"""Every error of metalwright, sorted by who must act. Each keeps its cause and says what to do next."""

from dataclasses import dataclass


class MetalwrightError(Exception):
    """Root of the tree; `hint` says what to do next."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing wrong in the operator's files. `line` counts from 1; 0 means the file as a whole."""

    file: str
    line: int
    path: str
    message: str
    hint: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        what = f"{self.path}: {self.message}" if self.path else self.message
        return f"{where}  {what}" + (f"\n  hint: {self.hint}" if self.hint else "")


class SpecError(MetalwrightError):
    """The operator edits the spec. Carries every problem at once."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems), hint="edit the files named above and run the command again")
        self.problems = problems


class InputError(MetalwrightError):
    """The operator gave a wrong argument, file or state folder (exit code 3)."""


class TemporaryError(MetalwrightError):
    """The loop acts: it tries again after `retry_after_s`."""

    def __init__(self, message: str, *, retry_after_s: float = 5.0, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.retry_after_s = retry_after_s


class MachineFault(MetalwrightError):
    """A person or the retire path acts: the machine answers, and the answer is wrong."""


class FencedError(MetalwrightError):
    """This worker's lease is gone: it stops writing at once; another worker has the shard."""


class InvariantError(MetalwrightError):
    """Our bug."""
