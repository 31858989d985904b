"""What a BMC can be asked to change: one file per action. Each re-reads, then writes; none claims that it worked."""
