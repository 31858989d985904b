"""A QEMU machine as its BMC describes it: the same serials as the spec's, and the hardware that QEMU really gives it."""

from dataclasses import replace

from metalwright.model.hardware import Cpu, Dimm
from metalwright.simulator.parts import ServerParts

MANUFACTURER, MODEL = "metalwright", "lab"
CPU_MODEL = "QEMU Virtual CPU"


def parts_of_machine(declared: ServerParts, *, cpus: int, memory_mib: int) -> ServerParts:
    """What was delivered: identity, drives and boot NIC as declared; CPUs and memory as QEMU is told; no GPU, no TPM."""
    identity = replace(declared.identity, manufacturer=MANUFACTURER, model=MODEL)
    return replace(
        declared,
        identity=identity,
        in_band_identity=identity,
        cpus=(Cpu(socket="CPU0", model=CPU_MODEL, cores=cpus, serial=None),),
        dimms=(Dimm(slot="DIMM 0", size_mib=memory_mib),),
        tpm=None,
    )
