"""Foreign errors of the databases → `model.errors`, by who must act."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import exc

from metalwright.model.errors import InputError, InvariantError, MachineFault, MetalwrightError, TemporaryError

TOO_SLOW = "the database did not answer in time"
TOO_SLOW_HINT = "is it overloaded, stopped, or cut off?"

_RIGHTS = "check the owner and the rights of the folder .metalwright"
_RESTORE = "stop metalwright, keep a copy of .metalwright, and restore the last backup; the evidence log then opens a new origin"
_SQLITE: dict[int, tuple[type[InputError] | type[MachineFault], str, str]] = {
    3: (InputError, "the site's database may not be used", _RIGHTS),
    8: (InputError, "the site's database cannot be written", _RIGHTS),
    10: (MachineFault, "the disk of the site's database fails to read or write", "look at the kernel log (dmesg) of this machine"),
    11: (MachineFault, "the site's database is damaged", _RESTORE),
    13: (MachineFault, "the disk of the site's database is full", "free some space; nothing was half written"),
    14: (InputError, "the site's database cannot be opened", _RIGHTS),
    23: (InputError, "the site's database may not be used", _RIGHTS),
    26: (InputError, "the site's database file is not a SQLite database", "restore it from a backup, or move it away"),
}
"""Primary result codes (sqlite.org/rescode.html) that a person must act on."""
_SQLITE_BUSY = (5, 6, 15, 17)
"""BUSY, LOCKED, PROTOCOL (a race for the WAL), SCHEMA: another process is at it just now."""

_NO_ACCESS = ("the database refuses this user", "check user, password and pg_hba.conf")
_NO_DATABASE = ("there is no such database", "create it: createdb NAME")
_INPUT_STATES = {
    "28": _NO_ACCESS,
    "3D": _NO_DATABASE,
    "42501": ("this user may not do that in the database", "grant it the right to create and write tables in its schema"),
}
_INPUT_WORDS = {
    "authentication failed": _NO_ACCESS,
    "no pg_hba.conf entry": _NO_ACCESS,
    "no password supplied": _NO_ACCESS,
    "FATAL:  role": _NO_ACCESS,
    "FATAL:  database": _NO_DATABASE,
}
"""While connecting there is no state, only words. Words that are not known here (a translated server) count as temporary."""
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
        raise TemporaryError(TOO_SLOW, hint=TOO_SLOW_HINT) from error
    except exc.TimeoutError as error:
        raise TemporaryError("every database connection is in use", retry_after_s=1.0) from error
    except exc.DBAPIError as error:
        raise _translated(error) from error
    except sqlite3.Error as error:
        raise _from_sqlite(error.sqlite_errorcode & 0xFF, str(error)) from error
    except OverflowError as error:
        raise InvariantError("a number does not fit the database", hint="it should have been refused where it came in") from error
    except OSError as error:
        raise TemporaryError(f"the database cannot be reached: {error}") from error


def _translated(error: exc.DBAPIError) -> MetalwrightError:
    code = getattr(error.orig, "sqlite_errorcode", None)
    if isinstance(code, int):
        return _from_sqlite(code & 0xFF, str(error.orig))
    state = getattr(error.orig, "sqlstate", None)
    if isinstance(state, str):
        return _from_postgresql(state, str(error.orig).strip())
    if isinstance(error, exc.OperationalError | exc.InterfaceError) or error.connection_invalidated:
        return _unreachable(_first_line(error))
    return InvariantError(f"the database refuses a statement: {_first_line(error)}")


def _unreachable(said: str) -> MetalwrightError:
    for words, (what, hint) in _INPUT_WORDS.items():
        if words in said:
            return InputError(f"{what}: {said}", hint=hint)
    return TemporaryError(f"the database cannot be reached: {said}", hint="is it running, and is the address right?")


def _from_sqlite(code: int, said: str) -> MetalwrightError:
    if code in _SQLITE_BUSY:
        return TemporaryError("the site's database is in use by another process", retry_after_s=1.0)
    if code in _SQLITE:
        kind, message, hint = _SQLITE[code]
        return kind(message, hint=hint)
    return InvariantError(f"SQLite refuses a statement: {said}")


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
