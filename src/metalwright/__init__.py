"""metalwright: GPU servers from racking to the first training run, with signed evidence at every gate."""

__version__ = "0.1.0"
