"""The HTTP server: ADK's routes, and runs that can be listed, stopped and read again. Needs the extra `serve`.

`create_app(runner)` is a Starlette application; `rxagent serve MODULE:AGENT` runs it under uvicorn.

    GET    /health                                   {"status": "ok"}; needs no token
    GET    /version                                  {"version", "language", "language_version"}
    GET    /metrics                                  counters, as prometheus text
    GET    /list-apps                                ["support"]
    GET    /apps/A/users/U/sessions                  sessions without events, the latest changed first
    POST   /apps/A/users/U/sessions                  {"sessionId"?, "state"?, "events"?} -> session; 409 when it exists
    POST   /apps/A/users/U/sessions/S                {state}? -> session; 409 when it exists
    GET    /apps/A/users/U/sessions/S                session with its events; 404
    PATCH  /apps/A/users/U/sessions/S                {"stateDelta"} -> session
    DELETE /apps/A/users/U/sessions/S                null
    GET    /apps/A/users/U/sessions/S/pending        [question]: the calls that wait for an answer; 404
    GET    /apps/A/users/U/sessions/S/artifacts      ["report.pdf", "user:avatar.png"]
    POST   /apps/A/users/U/sessions/S/artifacts      {"filename", "artifact": part} -> version
    GET    .../artifacts/NAME                        part, the newest or that of ?version=; 404
    DELETE .../artifacts/NAME                        null; all versions are gone
    GET    .../artifacts/NAME/versions               [0, 1]
    GET    .../artifacts/NAME/versions/V             part; V may be `latest`; 404
    GET    .../artifacts/NAME/versions/metadata      [version]
    GET    .../artifacts/NAME/versions/V/metadata    version: {"version", "canonicalUri", "customMetadata",
                                                     "createTime"?, "mimeType"?}; 404
    POST   /run                                      run request -> [event]; 500 when the run failed, 422
                                                     when the message could not be taken
    POST   /run_sse                                  run request -> frames
    GET    /runs?app&user&session&state              [run], the latest first; of all processes on the database
    GET    /runs/R                                   run; 404
    POST   /runs/R/abort                             {"reason"?, "after"?} -> run, once the seal is stored; 202 with the
                                                     run when that takes longer than its grace
    GET    /runs/R/events                            frames: those behind `Last-Event-ID` (?last_event_id=), then live

run request  {"appName", "userId", "sessionId", "newMessage", "streaming"?, "stateDelta"?, "invocationId"?,
             "onDisconnect"?, "busy"?}, keys also in snake_case. newMessage: a content; a function response in it
             answers a confirmation or another long-running call: {"role": "user", "parts": [{"functionResponse": {
             "id", "name": "adk_request_confirmation", "response": {"confirmed": true}}}]}. streaming: partial events,
             too. The last two may stand in the query, as `on_disconnect` and `busy`.
onDisconnect "abort" (default): when the connection that started the run goes, it stops (`client_disconnect`).
             "detach": it goes on; read it again by its id.
busy         what to do when the session has a run: "queue" (default), "reject" (409), "interrupt" (stop that one).
run          {"runId", "invocationId", "appName", "userId", "sessionId", "state", "startedAt", "endedAt"?, "outcome"?}.
             invocationId: what its events carry; not the runId when the run resumes an earlier one. state: waiting,
             running, stopping, ended; lost: its process has gone. Times in seconds.
question     {"kind", "callId", "invocationId", "name", "args", "hint", "payload"?, "approve"?, "reject"?, "answer"?}.
             kind: confirmation, answer. The last three are contents to send as newMessage; in that of a long-running
             call, put its result in the place of {}.
outcome      {"kind", "reason"?, "error"?, "eventsSaved", "callsSealed", "partialsDropped", "durationMs", "usage"}

The response to a run carries its id in the header `Rxagent-Run-Id`, before its first event.

Frames (server-sent events):

    : ...                            a comment: the beginning, and every 15 s of silence
    id: 7 / data: {event}            a stored event; the id is its sequence number in the log
    data: {event}                    a partial event, which cannot be asked for again
    event: error / data: {"error"}   why the run failed, or why the server cannot go on; ADK's clients know it
    event: outcome / data: {event}   the last frame, always: an event without content, its
                                     customMetadata.outcome is the outcome (ADK's clients take it for an event)

A reader that is slow loses partial events, never stored ones, and holds nothing back. JSON is that of ADK's API server:
camelCase, absent fields left out, timestamps in seconds. Errors before the headers are {"detail": "what to do"} with a
status: 401 token, 403 origin or host, 404, 409, 413 too large, 422 what is wrong with the request, 503 shutting down.
"""

from __future__ import annotations

from .app import create_app
from .settings import ServeSettings

__all__ = ["ServeSettings", "create_app"]
