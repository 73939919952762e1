"""The one table of what rxagent does otherwise than ADK Java 1.8.0 did: which trace, by what decision, and how.

What is to come instead stands in `ours/<id>.json`, part by part; a part that is not there is as ADK Java's.
"""

from __future__ import annotations

from typing import Final

__all__ = ["DIFFERENCES"]

STOPPED: Final = (
    "a stopped run's model call, tools and hooks stop with it (J6); Java's step cache lets them go on unseen"
)
SEALED: Final = "the next run seals a call that was left open, before its own message (A13)"
DELTA: Final = "state is a delta of its event, stored with it or not at all; Java writes it through at once"
SLOT: Final = "a run starts when the one before it is over, and leaving the queue lets nobody overtake (J17, J18)"
TEMP: Final = "`temp:` keys live as long as the run and are trimmed from what is stored"
UNKNOWN_TOOL: Final = "an unknown tool is answered with a readable error that lists the tools"
IDS: Final = "an id that its session has already is replaced by a fresh one when the call is received (J21)"
BIND: Final = "arguments that do not fit are an error result for the model that names the parameter"
BRANCH: Final = "an agent as a tool runs on a worker of its own, so that the caller's model stream ends meanwhile"
END: Final = "end_invocation ends the run: no other agent starts (A11)"
GRANDCHILD: Final = "only a direct sub-agent's escalation ends a parallel agent (ADK Java 1.11)"
ORPHAN: Final = "an answer to no call is refused, and nothing is stored (J31)"
DECIDED: Final = "a question is decided once: a repeated answer is dropped, the stream is empty (J30, J37)"
PENDING: Final = "a request says of an unanswered long-running call that it is still pending (J38)"
COMPACTION: Final = "compaction never parts a call from its response, nor drops an open one"
FINISHED: Final = "when one of several calls fails, what had finished is answered; Java drops it"

DIFFERENCES: Final[dict[str, str]] = {
    "a10_only_partials": "partial responses without a final one are closed by one final event with the whole text",
    "a14_roleless_answer": "an answer without a role is the model's; Java stores it and hides it from later requests",
    "a17_bad_messages": "a message without parts is refused before any hook; one without a role is the user's",
    "b10_one_of_three_fails": f"{FINISHED}; {SEALED}",
    "b11_sequential_second_fails": FINISHED,
    "b12_unknown_tool": UNKNOWN_TOOL,
    "b13_some_unknown": UNKNOWN_TOOL,
    "b14_duplicate_ids": IDS,
    "b17_state_and_artifacts": f"{DELTA}: a tool does not see what its neighbour of the same batch has written",
    "b20_replace_actions_detaches_state": f"{DELTA}: so a write behind replaced actions is lost, in the live state too",
    "b24_native_binding": BIND,
    "b27_slow_append_hole": "a tool starts when its call is stored, a step when the events of the one before are (J10)",
    "b29_append_of_call_fails": "a tool whose call could not be stored does not run (J10)",
    "b30_parallel_subscribe_one_fails": f"{FINISHED}; a thread of Python cannot be interrupted",
    "c16_before_run_content": "the event that answers in before_run is stored, then emitted, like every final event",
    "c28_run_level_state": f"{DELTA}: what run-level hooks write goes out with the next event",
    "d15_parallel_error": STOPPED,
    "d16_parallel_escalate": STOPPED,
    "d22_parallel_escalate_by_grandchild": GRANDCHILD,
    "e13_agent_tool": f"{BRANCH}; {TEMP}",
    "e15_agent_tool_error_handled": BRANCH,
    "e16_agent_tool_options": BRANCH,
    "e17_agent_tool_last_event": f"{BRANCH}; a state-only event at the end does not lose the answer",
    "e18_agent_tool_missing_request": BIND,
    "e21_agent_tool_schemas": BRANCH,
    "e22_agent_tool_bad_input": BIND,
    "f08_dangling_call": SEALED,
    "f09_orphan_response": ORPHAN,
    "f10_orphan_with_history": ORPHAN,
    "f11_templates": f"{TEMP}; initial `app:` and `user:` keys go to their scope",
    "f13_template_missing_artifact": "the error has a class of its own, InstructionError",
    "f18_state_scopes": TEMP,
    "f19_state_delta_null": "None is a value of the state; removal is `del`",
    "f21_initial_prefixed_state": "initial `app:` and `user:` keys go to their scope",
    "f22_state_visible_without_event": f"{DELTA}; {SEALED}",
    "f24_repeated_ids_in_history": IDS,
    "f25_branch_prefix": "branches are compared by whole segments",
    "f26_response_of_other_agents_call": "an answer is never hidden from a later request (J38)",
    "g03_by_tool_with_payload": "the hint of an answer that has none is empty; Java's JSON path loses it",
    "g07_answered_twice": DECIDED,
    "g11_tool_fails_after_approval": "an error that a tool emits fails the run (J20), also of an approved call",
    "g13_unknown_answer": ORPHAN,
    "g16_rejected_then_approved": DECIDED,
    "g18_answer_without_confirmed": "an answer that does not say whether decides nothing (as in g19)",
    "g20_agent_tool_confirmation": BRANCH,
    "h09_sequence_resumable": "an answer is never hidden from a later request (J38)",
    "h12_loop_not_resumable": PENDING,
    "h14_beside_plain_tool": PENDING,
    "h19_unknown_id_resumable": ORPHAN,
    "h20_response_without_id": ORPHAN,
    "i05_end_invocation_on_context": END,
    "i07_end_invocation_before_agent": END,
    "i08_end_invocation_before_agent_state": END,
    "i17_tail_retention_splits_pair": COMPACTION,
    "i18_sliding_window_over_open_call": f"{COMPACTION}; the run goes on, to where the summariser's script ends",
    "j01_after_first_event": f"{STOPPED}; {SEALED}",
    "j02_mid_stream": STOPPED,
    "j03_mid_stream_then_call": STOPPED,
    "j04_single_tool": f"{STOPPED}; {SEALED}",
    "j12_parallel_tools": STOPPED,
    "j17_queue_dispose_waiting": SLOT,
    "j18_queue_dispose_running": f"{SLOT}; {STOPPED}",
    "j19_queue_other_session": "the queue is the session's: app, user and session id (J16)",
    "j21_next_step_before_slow_on_event": "a step begins when the events of the one before were passed on (J10)",
    "j22_barrier_deadlock": "no barrier waits for event ids: an agent may re-id what passes through it",
    "j24_dispose_in_agent_tool": f"{STOPPED}; {BRANCH}",
    "j26_parallel_subscribe_tools": STOPPED,
    "j27_parallel_agent": STOPPED,
    "j28_in_waiting_on_event": STOPPED,
    "j32_next_run_after_dispose_in_tool": f"{STOPPED}; {SLOT}; {SEALED}",
}
