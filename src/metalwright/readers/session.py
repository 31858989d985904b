"""A pasted terminal session → its pieces, one per command. A text without commands is one piece."""

import re
from collections.abc import Iterator

TOOLS = (
    r"(?:sudo )?(?:\S{0,80}/)?(?:nvidia-smi|dmesg|journalctl|dcgmi|amd-smi|rocm-smi|lspci|ethtool|nvme|smartctl|ibnetdiscover|ibstat"
    r"|nvbandwidth|mpirun|srun|\S{0,80}_perf)\b.*"
)
PROMPT = re.compile(rf"^(?:# \$ |(?:\[?[\w.-]{{1,64}}@[\w.-]{{1,64}}[^\n$#]{{0,80}})?[$#] |\+ )({TOOLS})$", re.M)
RULER = re.compile(r"^(?:[#=*-]{20,}|# [^\n]{1,80} :: [^\n]{1,80})$\n?", re.M)
"""Lines that part the sections of a collected session."""
READ = re.compile(
    r"nvidia-smi(?:\s*$| -q| topo| nvlink -[se]\b| --query-gpu)|^(?:sudo )?(?:dmesg|journalctl)|dcgmi diag|_perf\b|nvbandwidth"
    r"|amd-smi|rocm-smi"
)
"""Commands whose output some reader knows: when it does not, that is unreadable, and not merely something else."""


def pieces(text: str) -> Iterator[tuple[str, str]]:
    """(command, its output); the command is empty for a text that shows none, and for what stands before the first."""
    text = RULER.sub("", text)
    starts = list(PROMPT.finditer(text))
    if not starts:
        yield "", text
        return
    if text[: starts[0].start()].strip(" \n#"):
        yield "", text[: starts[0].start()]
    ends = [match.start() for match in starts[1:]] + [len(text)]
    for match, end in zip(starts, ends, strict=True):
        yield match.group(1).strip(), text[match.end() : end]


def is_read(command: str) -> bool:
    """Whether the output of that command should be readable."""
    return READ.search(command) is not None and not re.search(r"\s(?:-h|--help\S*|--version|-L|pmon|dmon)\b", command)
