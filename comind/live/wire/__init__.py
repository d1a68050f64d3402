"""The official client's request and response types: what is asked and answered, in its own words.

Answers are built from the client's classes, whose setters check every field, and written by their own
serialisation; requests are read by it, and what is not of a field's type is refused.
"""

from comind.live.wire.competitions import (
    competition,
    competition_list,
    data_files,
    leaderboard,
    limits,
    one,
    pages,
    submission,
    submissions,
    submitted,
    token_holder,
    upload,
)
from comind.live.wire.discussions import (
    Branch,
    comments,
    competition_topics,
    last_word,
    messages,
    one_topic,
    topic,
    topics,
)
from comind.live.wire.types import REQUESTS, number, read_request
from comind.live.wire.works import (
    dataset,
    dataset_files,
    dataset_list,
    dataset_metadata,
    dataset_status,
    notebook,
    notebook_files,
    notebook_output,
    notebook_status,
    notebook_with_source,
    notebooks,
)

__all__ = [
    "REQUESTS",
    "Branch",
    "comments",
    "competition",
    "competition_list",
    "competition_topics",
    "data_files",
    "dataset",
    "dataset_files",
    "dataset_list",
    "dataset_metadata",
    "dataset_status",
    "last_word",
    "leaderboard",
    "limits",
    "messages",
    "notebook",
    "notebook_files",
    "notebook_output",
    "notebook_status",
    "notebook_with_source",
    "notebooks",
    "number",
    "one",
    "one_topic",
    "pages",
    "read_request",
    "submission",
    "submissions",
    "submitted",
    "token_holder",
    "topic",
    "topics",
    "upload",
]
