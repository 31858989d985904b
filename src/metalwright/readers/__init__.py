"""Raw output of tools and of the kernel → facts. Pure: what an agent shipped goes in, what it says comes out, never an exception."""
