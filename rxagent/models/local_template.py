"""CHATML_TOOLS: a chat template that offers tools, for small ChatML models whose own template does not."""

from __future__ import annotations

from typing import Final

__all__ = ["CHATML_TOOLS"]

CHATML_TOOLS: Final = r"""
{%- set system = messages[0].content if messages[0].role == 'system' else '' %}
{%- if tools %}
  {{- '<|im_start|>system\n' }}
  {%- if system %}{{- system + '\n\n' }}{% endif %}
  {{- 'You can call these functions. Their signatures are in <tools></tools>:\n<tools>' }}
  {%- for tool in tools %}{{- '\n' }}{{- tool | tojson }}{% endfor %}
  {{- '\n</tools>\nTo call one, answer with a JSON object inside <tool_call></tool_call> tags:\n' }}
  {{- '<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call><|im_end|>\n' }}
{%- else %}
  {{- '<|im_start|>system\n' + (system or 'You are a helpful assistant.') + '<|im_end|>\n' }}
{%- endif %}
{%- for message in messages %}
  {%- if message.role == 'user' or (message.role == 'system' and not loop.first) %}
    {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}
  {%- elif message.role == 'assistant' %}
    {{- '<|im_start|>assistant\n' }}
    {%- if message.content %}{{- message.content }}{% endif %}
    {%- for call in message.tool_calls or [] %}
      {%- set function = call.function if call.function else call %}
      {{- '\n<tool_call>\n{"name": "' + function.name + '", "arguments": ' }}
      {{- function.arguments | tojson }}
      {{- '}\n</tool_call>' }}
    {%- endfor %}
    {{- '<|im_end|>\n' }}
  {%- elif message.role == 'tool' %}
    {{- '<|im_start|>user\n<tool_response>\n' + message.content + '\n</tool_response><|im_end|>\n' }}
  {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{% endif %}
""".strip()
"""Qwen's words for tools, which llama.cpp recognises in answers. Jinja, as llama.cpp reads it.

Where there is neither an instruction nor a tool it gives an instruction, as the models' own templates do: without
any, the small weights talk nonsense.
"""
