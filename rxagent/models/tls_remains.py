"""What `SSLContext.wrap_socket` leaves behind when the other side resets at that very moment."""

from __future__ import annotations

import ssl

__all__ = ["close_half_made"]


def close_half_made(error: BaseException) -> None:
    """Close the TLS socket that the failed `wrap_socket` behind `error` has made and kept open.

    CPython closes it after most failures, but not when it finds the connection reset before the handshake; only the
    traceback still knows it then, and it would be closed, with a ResourceWarning, when that is forgotten.
    """
    trace = error.__traceback__
    while trace is not None:
        half_made = trace.tb_frame.f_locals.get("self")
        if isinstance(half_made, ssl.SSLSocket):
            half_made.close()
        trace = trace.tb_next
