"""Unpacks zstd frames: by the library where it can be loaded, else by the program. This Python has no zstd module of its own.

The library saves a process per frame, which is most of the time of a small frame.
"""

import subprocess
from collections.abc import Callable
from functools import cache

LIBRARY = "libzstd.so.1"
UNPACK_S = 60.0


def unpack(stored: bytes, length: int) -> bytes:
    """At most `length` bytes; ValueError for anything that is not zstd, is damaged, or holds more."""
    return _unpacker()(stored, length)


@cache
def _unpacker() -> Callable[[bytes, int], bytes]:
    try:
        import ctypes  # noqa: PLC0415  # slow to import under emulation, and only a write needs it

        library = ctypes.CDLL(LIBRARY)
    except (ImportError, OSError):
        return by_program
    library.ZSTD_decompress.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)
    library.ZSTD_decompress.restype = ctypes.c_size_t
    library.ZSTD_isError.argtypes = (ctypes.c_size_t,)
    library.ZSTD_isError.restype = ctypes.c_uint
    library.ZSTD_getErrorName.argtypes = (ctypes.c_size_t,)
    library.ZSTD_getErrorName.restype = ctypes.c_char_p

    def by_library(stored: bytes, length: int) -> bytes:
        """zstd.h: ZSTD_decompress writes at most the given capacity."""
        room = ctypes.create_string_buffer(max(1, length))
        size = library.ZSTD_decompress(room, length, stored, len(stored))
        if library.ZSTD_isError(size):
            raise ValueError(f"zstd: {library.ZSTD_getErrorName(size).decode()}")
        return room.raw if size == len(room) else room.raw[:size]

    return by_library


def by_program(stored: bytes, length: int) -> bytes:
    """As `unpack`, in a process of its own."""
    try:
        done = subprocess.run(("zstd", "-d", "-c", "-q"), input=stored, capture_output=True, timeout=UNPACK_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ValueError(f"zstd: {error}") from error
    if done.returncode != 0 or len(done.stdout) > length:
        raise ValueError(f"zstd: exit {done.returncode}, {len(done.stdout)} bytes {done.stderr[:200].decode(errors='replace')}")
    return done.stdout
