"""Fuzzes every reader and check of `metalwright judge` with coverage guidance: no exception, no check that crashes, no slow input.

`pip install atheris`, then `python benchmarks/fuzz_readers.py CORPUS -max_total_time=300 -timeout=5`; CORPUS is a folder of captured
outputs to start from (those of the tests, or your own). Further options are libFuzzer's. Ends with a traceback at the first find.
"""

import sys

import atheris  # type: ignore[import-untyped, import-not-found, unused-ignore]  # a tool of its own, there or not

with atheris.instrument_imports(include=["metalwright.readers", "metalwright.gates.readings"]):
    from metalwright.codec.accelerators import accelerators
    from metalwright.gates.readings.judge import judge_readings
    from metalwright.gates.readings.platform import platform_of
    from metalwright.gates.readings.summary import summary, trouble
    from metalwright.readers.detect import read_bytes

PLATFORMS = tuple(accelerators().values())


def judge_one(raw: bytes) -> None:
    """Read, judge by a platform that the bytes choose, and tell: everything that `judge` does with a file."""
    readings = read_bytes(raw, "fuzz")
    platform_of(readings)
    verdict = judge_readings(readings, PLATFORMS[len(raw) % len(PLATFORMS)])
    crashed = [finding.reason for finding in verdict.findings if finding.reason.startswith("check crashed")]
    if crashed:
        raise AssertionError(crashed[0])
    for reading in readings:
        summary(reading)
        trouble(reading)


if __name__ == "__main__":
    atheris.Setup(sys.argv, judge_one)
    atheris.Fuzz()
