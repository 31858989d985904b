"""Foreign errors of the databases → `model.errors`, by who must act."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import exc

from metalwright.model.errors import InputError, InvariantError, MachineFault, MetalwrightError, TemporaryError

SQLITE_CODES = {
    5: "busy",
    6: "locked",
    8: "read-only",
    10: "io",
    11: "corrupt",
    13: "full",
    14: "cannot-open",
    3: "permission",
    19: "constraint",
    23: "permission",
    26: "not-a-database",
    17: "locked",
    15: "locked",
}
"""Primary result codes (sqlite.org/rescode.html) → what they mean here."""

_SPACE = MachineFault("the disk of the site's database is full", hint="free some space; nothing was half written")
_SICK: dict[str, MetalwrightError] = {
    "full": _SPACE,
    "io": MachineFault("the disk of the site's database fails to read or write", hint="look at the kernel log (dmesg) of this machine"),
    "corrupt": MachineFault(
        "the site's database is damaged",
        hint="stop metalwright, keep a copy of .metalwright, and restore the last backup; the evidence log opens a new origin",
    ),
    "not-a-database": InputError("the site's database file is not a SQLite database", hint="restore it from a backup, or move it away"),
    "read-only": InputError("the site's database cannot be written", hint="check the owner and the rights of the folder .metalwright"),
    "permission": InputError("the site's database may not be used", hint="check the owner and the rights of the folder .metalwright"),
    "cannot-open": InputError("the site's database cannot be opened", hint="check that the folder .metalwright exists and is yours"),
}
"""By meaning; `locked` and `busy` are temporary, `constraint` is our bug."""

_INPUT_STATES = {
    "28": ("the database refuses this user", "check user, password and pg_hba.conf"),
    "3D": ("there is no such database", "create it: createdb NAME"),
    "42501": ("this user may not do that in the database", "grant it the right to create and write tables in its schema"),
}
_FAULT_STATES = {
    "53100": ("the disk of the database server is full", "free some space there; nothing was half written"),
    "58": ("the database server has a fault of its system", "look at the log of the database server"),
    "XX": ("the database server found damaged data or a fault of its own", "look at the log of the database server"),
}
_BUG_STATES = ("22", "23", "42")
"""Data, constraint and syntax errors: a statement of ours is wrong."""


@contextmanager
def as_ours() -> Iterator[None]:
    """Whatever the database layer raises inside comes out as one of `model.errors`."""
    try:
        yield
    except TimeoutError as error:
        raise TemporaryError("the database did not answer in time", hint="is it overloaded, or cut off?") from error
    except exc.TimeoutError as error:
        raise TemporaryError("every database connection is in use", retry_after_s=1.0) from error
    except exc.DBAPIError as error:
        raise _translated(error) from error
    except OverflowError as error:
        raise InvariantError("a number does not fit the database", hint="it should have been refused where it came in") from error
    except OSError as error:
        raise TemporaryError(f"the database cannot be reached: {error}") from error


def _translated(error: exc.DBAPIError) -> MetalwrightError:
    code = getattr(error.orig, "sqlite_errorcode", None)
    if isinstance(code, int):
        return _from_sqlite(SQLITE_CODES.get(code & 0xFF, "other"), str(error.orig))
    state = getattr(error.orig, "sqlstate", None)
    if isinstance(state, str):
        return _from_postgresql(state, str(error.orig).strip())
    if isinstance(error, exc.OperationalError | exc.InterfaceError) or error.connection_invalidated:
        return TemporaryError(f"the database cannot be reached: {_first_line(error)}", hint="is it running, and is the address right?")
    return InvariantError(f"the database refuses a statement: {_first_line(error)}")


def _from_sqlite(meaning: str, said: str) -> MetalwrightError:
    if meaning in ("busy", "locked"):
        return TemporaryError("the site's database is in use by another process", retry_after_s=1.0)
    sick = _SICK.get(meaning)
    return type(sick)(sick.message, hint=sick.hint) if sick else InvariantError(f"SQLite refuses a statement: {said}")


def _from_postgresql(state: str, said: str) -> MetalwrightError:
    for known, (what, hint) in _INPUT_STATES.items():
        if state.startswith(known):
            return InputError(f"{what}: {said}", hint=hint)
    for known, (what, hint) in _FAULT_STATES.items():
        if state.startswith(known):
            return MachineFault(f"{what}: {said}", hint=hint)
    if state.startswith(_BUG_STATES):
        return InvariantError(f"PostgreSQL refuses a statement: {said}")
    return TemporaryError(f"PostgreSQL is not ready: {said}")


def _first_line(error: exc.DBAPIError) -> str:
    return (str(error.orig).strip().splitlines() or [type(error.orig).__name__])[0]
