"""The `inventory` gate: the machine in the rack is the one that was bought, specified and wired, part by part."""

from metalwright.gates.inventory import (
    bmc_answers,
    boot_claims,
    console,
    gpu_pcie,
    gpus,
    host,
    identity,
    nvlink_matrix,
    nvlinks,
    purchase,
    watched,
    witnesses,
)

CHECKS = (
    bmc_answers.CHECK,
    identity.CHECK,
    witnesses.CHECK,
    purchase.CHECK,
    host.CPUS,
    host.MEMORY,
    gpus.GPUS,
    gpu_pcie.CHECK,
    gpus.NVSWITCHES,
    nvlinks.CHECK,
    nvlink_matrix.CHECK,
    host.NICS,
    host.DRIVES,
    boot_claims.CHECK,
    console.CHECK,
    watched.XIDS,
    watched.LEAKS,
)
