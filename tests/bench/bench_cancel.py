"""How soon a cancelled model call is over, and whether it harms others: 500 calls at random moments, plain and TLS.

`python tests/bench/bench_cancel.py` prints JSON. The server is a process of its own; both clocks are the system's
monotonic one. worker_free: from the cancel to the moment when the call's thread has left the call. server_saw: to the
moment when the server saw the connection go (a call that had not connected yet has none). Every other call finds a
connection in the pool. The race then cancels calls at about the moment of their end while three threads make innocent
calls over the same pool. Exit code 1 when a call hung, ended wrongly or left something behind.
"""

from __future__ import annotations

import json
import multiprocessing
import platform
import ssl
import sys
import tempfile
from importlib.metadata import version
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import trustme

sys.path.insert(0, str(Path(__file__).parents[2]))

from rxagent.models import ChatCompletions
from rxagent.testing.chat_server import ChatServer
from rxagent.testing.leaks import LeakError, no_leaks
from tests.models import cancel_storm

DISPOSALS = 125  # in each of four rounds
INNOCENTS = 2_500  # plain, and again over TLS
MOMENTS = {"early": 0.008, "late": 0.06}  # seconds: within connect, handshake and sending; within the stream


def serve(pipe: Connection, certificate: str | None) -> None:
    """The server's process: says its port, and when asked, what it saw go and when."""
    tls = None
    if certificate is not None:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate)
    with ChatServer(cancel_storm.turn, tls=tls) as server:
        pipe.send(server.base_url)
        while pipe.recv() != "end":
            pipe.send({_key(received): received.gone_at for received in server.requests if received.gone_at})


def _key(received: Any) -> str:
    try:
        return cancel_storm.key(received)
    except ValueError:  # its body was cut off
        return ""


def figures(milliseconds: list[float]) -> dict[str, object]:
    """Median, 99th percentile and maximum."""
    ordered = sorted(milliseconds) or [0.0]
    at = [round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 3) for share in (0.5, 0.99, 1)]
    return {"median": at[0], "p99": at[1], "max": at[2], "unit": "ms", "count": len(milliseconds)}


def measure(scheme: str, certificate: str | None, verify: str, faults: list[str]) -> dict[str, dict[str, object]]:
    """All rounds over one scheme."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs, certificate), daemon=True)
    process.start()
    model = ChatCompletions("any", ours.recv(), verify=verify, retries=0)
    results: dict[str, dict[str, object]] = {}
    number = 0
    cancel_storm.warm(model)
    model.close()
    try:
        with no_leaks():
            for label, longest in MOMENTS.items():
                samples = cancel_storm.storm(model, DISPOSALS, longest, number)
                number += DISPOSALS
                ours.send("gone")
                gone: dict[str, float] = ours.recv()
                faults += [f"{scheme}: {sample.key} was not stopped" for sample in samples if not sample.was_stopped]
                left = [1000 * (sample.left - sample.cancelled) for sample in samples if sample.left is not None]
                seen = [1000 * (gone[sample.key] - sample.cancelled) for sample in samples if sample.key in gone]
                results[f"{scheme}_{label}_worker_free"] = figures(left)
                results[f"{scheme}_{label}_server_saw"] = figures(seen)
            result = cancel_storm.race(model, INNOCENTS)
            faults += result.wrong
            results[f"{scheme}_innocent_calls"] = {"median": result.innocent, "unit": "calls", **result.outcomes}
            model.close()
    except LeakError as error:
        faults.append(str(error))
    ours.send("end")
    process.join(20)
    return results


def main() -> int:
    """Measure and print. The exit code says whether everything was as promised, figures apart."""
    authority = trustme.CA()
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        verify, certificate = f"{folder}/authority.pem", f"{folder}/server.pem"
        authority.cert_pem.write_to_path(verify)
        authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(certificate)
        results = measure("plain", None, verify, faults) | measure("tls", certificate, verify, faults)
    results["faults"] = {"median": len(faults), "unit": "calls"}
    for fault in faults[:20]:
        print(fault, file=sys.stderr)
    stand = f"{version('rxagent')}, Python {platform.python_version()}"
    print(json.dumps({"system": "rxagent", "version": stand, "results": results}, indent=2))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
