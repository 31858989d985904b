"""Why something does not verify."""


class Refused(Exception):
    """Evidence that does not verify. `where` names the part (`record 17`, `checkpoint`, `line 3`), `why` says what is wrong with it."""

    def __init__(self, where: str, why: str) -> None:
        super().__init__(f"{where}: {why}")
        self.where, self.why = where, why
