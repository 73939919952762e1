"""One model turn and the loop around it: request, stream, calls, next step, sealing."""

from .asking_agent import AskingAgent
from .compaction_summarizer import LlmEventSummarizer
from .llm_flow import run_llm_flow

__all__ = ["AskingAgent", "LlmEventSummarizer", "run_llm_flow"]
