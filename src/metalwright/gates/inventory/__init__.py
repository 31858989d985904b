"""The `inventory` gate: the machine in the rack is the one that was bought, specified and wired, part by part."""

from metalwright.gates.inventory import bmc_answers, boot_claims, gpus, host, identity, nvlinks, purchase, witnesses

CHECKS = (
    bmc_answers.CHECK,
    identity.CHECK,
    witnesses.CHECK,
    purchase.CHECK,
    host.CPUS,
    host.MEMORY,
    gpus.GPUS,
    gpus.PCIE,
    gpus.NVSWITCHES,
    nvlinks.CHECK,
    host.NICS,
    host.DRIVES,
    boot_claims.CHECK,
)
