"""What listens: the boot listener (plain HTTP, for machines that have no keys yet) and the agent listener (TLS, sessions).

They hold no lease and decide nothing: they read boot grants and operations, and write observations and progress.
"""
