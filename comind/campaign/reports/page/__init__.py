"""Render a campaign as one self-contained HTML page: scores, attempts, ideas, failures, spend.

The page shows only values of the logs, the messages, the scripts and the titles of community items.
It reads no split, so no label is in it, and no configuration of models beyond their names; API keys
are redacted before an error is logged (`comind/llm/connection.py`).
Text of models, code and the community is untrusted; `long_texts.py` and the escaping of
`campaign_page.py` make it inert.
"""
