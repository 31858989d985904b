"""Why something does not verify."""


class Refused(Exception):
    """Evidence that does not verify. `where` names the record or the part (`record 17 (gate node:a1)`, `checkpoint`, `bundle line 3`)."""

    def __init__(self, where: str, why: str) -> None:
        super().__init__(f"{where}: {why}")
        self.where, self.why = where, why
