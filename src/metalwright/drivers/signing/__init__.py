"""Where keys live: a file today; agents and hardware modules speak the same port."""
