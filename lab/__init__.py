"""Real machines without real servers: QEMU behind the simulator's BMCs, in a network namespace of their own."""
