"""Entry of the RAM disk: `python3 -I -S -m metalwright.agent.main`. Arguments come from the kernel command line."""

import asyncio
import sys

from metalwright.agent.core import Agent
from metalwright.agent.linux import LinuxMachine
from metalwright.model.agent_messages import BootArguments

WANTED = ("mw.agent_url", "mw.pin", "mw.token", "mw.images")


def arguments_of(command_line: str) -> BootArguments | None:
    """What the boot script put there; None when something is missing."""
    words = dict(word.split("=", 1) for word in command_line.split() if "=" in word)
    if not all(words.get(name) for name in WANTED):
        return None
    return BootArguments(
        agent_url=words["mw.agent_url"], pin=words["mw.pin"], token=words["mw.token"], images_url=words["mw.images"], stage="ram"
    )


def say(text: str) -> None:
    """One line on the console."""
    print(f"metalwright agent: {text}", flush=True)


def main() -> int:
    """Runs until the machine is reset; returns when the server refuses this boot."""
    with open("/proc/cmdline", encoding="utf-8", errors="replace") as file:
        arguments = arguments_of(file.read())
    if arguments is None:
        say("the kernel command line lacks one of " + ", ".join(WANTED))
        return 1
    say(f"started, server {arguments.agent_url}")
    asyncio.run(Agent(say).run(LinuxMachine(), arguments))
    return 1


if __name__ == "__main__":
    sys.exit(main())
