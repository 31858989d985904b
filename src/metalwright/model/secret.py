"""A secret that prints as stars. Resolved at use, kept nowhere: not in the store, a log, evidence or an argument list."""


class Secret:
    """Holds a text that only `reveal` gives out."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The secret itself; call it only where it goes on the wire."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(***)"

    __str__ = __repr__

    def __reduce__(self) -> str:
        raise TypeError("a secret is never pickled")
