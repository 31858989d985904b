"""How often Python looks for garbage in cycles, in a process that sweeps BMCs.

An inventory is 2.4 MB of small dictionaries without a cycle, and 96 of them live at once: looking through them again and again took
a third of all CPU (61 ms per BMC, 40 to 48 so; 150 to 200 DGX H100 trees, `benchmarks/redfish_sweep.py`). Reference counting frees
them all the same.
"""

import gc

YOUNG, MIDDLE, OLD = 50_000, 20, 50


def collect_rarely() -> None:
    """For the whole process: what exists now is never looked at again, what comes is looked at 70 times less often than by default."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)
