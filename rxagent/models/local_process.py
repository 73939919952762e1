"""The process that serves a local model. It is run by its file name and never imported.

It gets its order as one line of JSON on stdin and answers with one on stdout, `{"address": ...}` or `{"error": ...}`.
It serves until stdin ends: by the hand of its owner, or because the owner is gone, however that came about.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

__all__: list[str] = []

_BATCH = 128
"""Tokens of a prompt that are read at once. The server looks for clients that have left only between two batches;
llama.cpp's 2048 keep both cores busy for up to ten seconds after a dispose, and read no faster."""


def _serve(order: dict[str, Any]) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = order["path"]
    params.model_alias = {os.path.basename(order["path"])}  # else answers, and so logs, tell the whole path
    params.n_ctx = order["context_size"] * order["slots"]
    params.n_parallel = order["slots"]
    params.n_batch = params.n_ubatch = _BATCH
    params.cpuparams.n_threads = order["threads"]
    if order["temperature"] is not None:
        params.sampling.temp = order["temperature"]
    if order["most_tokens"] is not None:
        params.n_predict = order["most_tokens"]
    params.use_jinja = True
    if order["chat_template"] is not None:
        params.chat_template = order["chat_template"]
    params.hostnames = ["127.0.0.1"]
    params.api_keys = [order["api_key"]]  # loopback is open to every user of the machine, and to web pages
    params.verbosity = 1  # errors alone
    params.ui = False
    params.endpoint_slots = False
    return xllamacpp.Server(params)


def _main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    order = json.loads(sys.stdin.readline())
    sys.path[:] = order["sys_path"]
    try:
        server = _serve(order)
        answer = {"address": server.listening_address}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), file=answers, flush=True)
    if "address" in answer:
        sys.stdin.read()
    os._exit(0)  # there is nothing to save, and an orderly end would first finish the batch under way


if __name__ == "__main__":
    _main()
