"""The `os` gate: the image that was ordered is the system that runs, on the ordered disk of the right machine."""

from metalwright.gates.os import boot, identity, image, kernel

CHECKS = (boot.CHECK, image.IMAGE, image.DISK, kernel.CHECK, identity.CHECK)
