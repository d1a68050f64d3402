"""Meta Kaggle's tables, as far as they are read: columns, kinds, and which of them a row cannot lack.

Kaggle writes numbers that may be missing with a decimal point, and times as `MM/DD/YYYY HH:MM:SS` in
UTC or as a day alone. What happened on a day, nobody knows when, counts from the end of that day on.
"""

import re
from typing import NamedTuple

__all__ = ["TABLES", "Table", "column_types", "select_list"]


class Table(NamedTuple):
    """A table of the dump, which may have more columns; those are not read."""

    keys: tuple[str, ...]
    """Columns without which a row is dropped."""
    others: tuple[str, ...] = ()
    """Columns that may be empty."""
    optional: tuple[str, ...] = ()
    """Columns that older or newer dumps do not have."""
    needed: bool = False
    """Whether there is nothing to import without it."""
    without: str = ""
    """What is missing from the store where the table is not there."""

    @property
    def columns(self) -> dict[str, str]:
        """Return `id`, `time`, `number` or `text` by column, as Kaggle's names tell it."""
        return {column: _kind(column) for column in (*self.keys, *self.others, *self.optional)}


def _kind(column: str) -> str:
    return next((kind for kind, names in _NAMES.items() if names.fullmatch(column)), "text")


_NAMES = {
    "id": re.compile(r"\w*Id|VersionNumber|(Performance)?Tier"),
    "time": re.compile(r"\w*Date"),
    "number": re.compile(r"PublicScore\w+"),
}
"""What names say of their columns, in all tables alike; what is left is text."""

TABLES = {
    "Competitions": Table(("Id", "Slug"), others=("ForumId",), needed=True),
    "Users": Table(("Id", "UserName"), others=("PerformanceTier",), needed=True),
    "Kernels": Table(
        ("Id", "AuthorUserId", "CurrentUrlSlug"),
        optional=("ForkParentKernelVersionId", "MadePublicDate"),
        needed=True,
    ),
    "KernelVersions": Table(
        ("Id", "ScriptId", "CreationDate", "VersionNumber"),
        others=("Title",),
        optional=("ScriptLanguageId",),
        needed=True,
    ),
    "KernelVersionCompetitionSources": Table(("KernelVersionId", "SourceCompetitionId"), needed=True),
    "KernelVotes": Table(("UserId", "KernelVersionId", "VoteDate"), without="votes for notebooks"),
    "KernelLanguages": Table(("Id",), others=("Name",), without="languages of notebooks"),
    "KernelVersionDatasetSources": Table(
        ("KernelVersionId", "SourceDatasetVersionId"), without="datasets that notebooks use"
    ),
    "KernelVersionKernelSources": Table(
        ("KernelVersionId", "SourceKernelVersionId"), without="notebooks that notebooks use"
    ),
    "UserAchievements": Table(("UserId", "Tier", "TierAchievementDate"), without="tiers by date"),
    "Submissions": Table(
        ("SourceKernelVersionId", "SubmissionDate"),
        optional=("TeamId", "ScoreDate", "PublicScoreFullPrecision", "PublicScoreLeaderboardDisplay"),
        without="public scores",
    ),
    "Teams": Table(("Id", "CompetitionId"), without="whose score it is"),
    "ForumTopics": Table(
        ("Id", "ForumId", "CreationDate"),
        others=("Title",),
        optional=("FirstForumMessageId",),
        without="discussions",
    ),
    "ForumMessages": Table(
        ("Id", "ForumTopicId", "PostDate"),
        others=("PostUserId", "Message"),
        optional=("ReplyToForumMessageId", "RawMarkdown"),
        without="comments",
    ),
    "ForumMessageVotes": Table(
        ("ForumMessageId", "FromUserId", "VoteDate"), without="votes for discussions and comments"
    ),
    "Datasets": Table(
        ("Id",), optional=("OwnerUserId", "OwnerOrganizationId", "CreatorUserId"), without="datasets"
    ),
    "DatasetVersions": Table(
        ("Id", "DatasetId", "VersionNumber", "CreationDate", "Slug"),
        others=("Title",),
        optional=("LicenseName",),
        without="versions of datasets",
    ),
    "Organizations": Table(("Id", "Slug"), without="names of organizations that own datasets"),
}
"""Tables by the names of their files, without `.csv`."""

_TYPES = {"id": "BIGINT", "time": "TIMESTAMP", "number": "DOUBLE", "text": "VARCHAR"}
_TIME = (
    "coalesce(try_strptime({0}, '%m/%d/%Y %H:%M:%S'),"
    " try_strptime({0}, '%m/%d/%Y') + INTERVAL 1 DAY,"
    " try_strptime({0}, '%Y-%m-%d') + INTERVAL 1 DAY,"
    " try_cast({0} AS TIMESTAMP))"
)
_NUMBER = "try_cast({0} AS DOUBLE)"
# What is no finite number, or no time that Python has, is missing.
_READ = {
    "id": "coalesce(try_cast({0} AS BIGINT), try_cast(try_cast({0} AS DOUBLE) AS BIGINT))",
    "time": (
        f"CASE WHEN {_TIME} BETWEEN TIMESTAMP '0001-01-01' AND TIMESTAMP '9999-12-31' THEN {_TIME} END"
    ),
    "number": f"CASE WHEN isfinite({_NUMBER}) THEN {_NUMBER} END",
    "text": "{0}",
}


def select_list(table: Table, there: list[str]) -> str:
    """Return how the columns of a table are read from text; one that is not there is empty."""
    parts = []
    for column, kind in table.columns.items():
        name = f'"{column}"'
        read = _READ[kind].format(name) if column in there else f"NULL::{_TYPES[kind]}"
        parts.append(f"{read} AS {name}")
    return ", ".join(parts)


def column_types(table: Table) -> dict[str, str]:
    """Return the columns of a table as the engine knows them."""
    return {column: _TYPES[kind] for column, kind in table.columns.items()}
