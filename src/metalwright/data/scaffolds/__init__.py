"""Templates of `metalwright init`: `$words` are filled in by `codec.scaffold`."""
