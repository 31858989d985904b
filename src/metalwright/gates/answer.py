"""What a check says: apart from the checks, so that judging a file need not load what a site is made of."""

from dataclasses import dataclass

from metalwright.model.judgement import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a check says. `part` (`gpu:3`) narrows the subject when exactly one part is at fault."""

    result: Result
    part: str = ""
    expected: str = ""
    seen: str = ""
    reason: str = ""
    do: str = ""
