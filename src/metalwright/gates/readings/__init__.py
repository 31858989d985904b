"""Checks over what the tools on a node print, one file per family: the same rules for `judge FILE` and for an agent's reports."""
