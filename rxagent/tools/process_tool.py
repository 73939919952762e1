"""ProcessTool: a command line as a tool, which ends with its run, and all that it has started."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

from rxagent.errors import ConfigError
from rxagent.streams.single import Single

from .confirmation import RequireConfirmation
from .context import CallContext
from .function_tool import FunctionTool, Result, _emitted, _Later
from .landing import Landing
from .process_run import Limits, ProcessRun
from .result import error_result

__all__ = ["ProcessTool"]


@final
class ProcessTool(FunctionTool):
    """Runs the command that a function gives for the model's arguments.

    ::

        def search(pattern: str, folder: str = ".") -> list[str]:
            \"\"\"Search text in files.\"\"\"
            return ["grep", "-rn", "--", pattern, folder]

        agent = LlmAgent(name="helper", model="local", tools=[ProcessTool(search)])

    command: a function whose name, docstring and parameters are told to the model, as those of a FunctionTool. It
    returns the arguments of a program, which no shell looks at; for a shell return `["sh", "-c", ...]` yourself.
    cwd, env: of the process; this process's own by default. stdin is empty, stderr goes with stdout.
    timeout: seconds for one call; None: no limit. grace: seconds from TERM to KILL. max_output: characters of the
    result; of what is longer, the middle is left out. encoding: of the output; what does not decode becomes U+FFFD.

    The result is `{"exit_code": 0, "output": "..."}`; minus the signal's number when one ended it; `left_out` counts
    the characters that were left out. What comes in is shown as progress, see `report_progress`. A command that cannot
    be started, or that takes too long, is an error result.

    The process has a group of its own. When it ends, or is stopped, all that is still in its group is ended, too: by
    TERM, and after the grace by KILL. What has left the group is beyond reach.

    Disposal: TERM, then KILL; the call is `stopped`, and the run ends when the process has. Errors: none but the
    function's. Threads: the function runs on the subscribing thread; a worker reads the output. POSIX alone.
    """

    __slots__ = ("_cwd", "_env", "_limits")

    def __init__(
        self,
        command: Callable[..., Sequence[str]],
        *,
        name: str | None = None,
        description: str | None = None,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
        grace: float = 2.0,
        max_output: int = 20_000,
        encoding: str = "utf-8",
        require_confirmation: RequireConfirmation = False,
        custom_metadata: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            command,
            name=name,
            description=description,
            require_confirmation=require_confirmation,
            custom_metadata=custom_metadata,
        )
        if self._is_coroutine:
            raise ConfigError(f"the command of the tool {self.name!r} is a coroutine; give a function of its arguments")
        if (timeout is not None and timeout <= 0) or grace < 0 or max_output < 1:
            raise ConfigError(f"the limits of the tool {self.name!r} are seconds and characters above 0")
        self._cwd = cwd
        self._env = None if env is None else dict(env)
        self._limits = Limits(timeout, grace, max_output, encoding)

    def _made(self, value: object, tool_context: CallContext, landing: Landing) -> Result | _Later:
        if not isinstance(value, (list, tuple)) or not value or not all(isinstance(word, str) for word in value):
            raise ConfigError(f"the command of the tool {self.name!r} gave {value!r}; return a list of texts")
        try:
            process = subprocess.Popen(
                value,
                cwd=self._cwd,
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            return error_result(f"The command {value[0]!r} cannot be started: {error.strerror}.")
        run = ProcessRun(process, self._limits, landing, tool_context.report_progress)
        return _Later(Single(run.start), _emitted)
