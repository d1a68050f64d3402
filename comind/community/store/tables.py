"""Meta Kaggle's tables, as far as they are read: columns, kinds, and which of them a row cannot lack.

Kaggle writes numbers that may be missing with a decimal point, and times as `MM/DD/YYYY HH:MM:SS` in
UTC or as a day alone. What happened on a day, nobody knows when, counts from the end of that day on.
"""

from typing import NamedTuple

__all__ = ["TABLES", "Table", "typed", "types"]


class Table(NamedTuple):
    """A table of the dump."""

    columns: dict[str, str]
    """`id`, `time`, `number` or `text` by column; a dump may have more columns, which are not read."""
    keys: tuple[str, ...]
    """Columns without which a row is dropped."""
    optional: tuple[str, ...] = ()
    """Columns that older or newer dumps do not have."""
    needed: bool = False
    """Whether there is nothing to import without it."""
    without: str = ""
    """What is missing from the store where the table is not there."""


TABLES = {
    "Competitions": Table({"Id": "id", "Slug": "text", "ForumId": "id"}, ("Id", "Slug"), needed=True),
    "Users": Table(
        {"Id": "id", "UserName": "text", "PerformanceTier": "id"}, ("Id", "UserName"), needed=True
    ),
    "Kernels": Table(
        {
            "Id": "id",
            "AuthorUserId": "id",
            "CurrentUrlSlug": "text",
            "ForkParentKernelVersionId": "id",
            "MadePublicDate": "time",
        },
        ("Id", "AuthorUserId", "CurrentUrlSlug"),
        optional=("ForkParentKernelVersionId", "MadePublicDate"),
        needed=True,
    ),
    "KernelVersions": Table(
        {
            "Id": "id",
            "ScriptId": "id",
            "ScriptLanguageId": "id",
            "CreationDate": "time",
            "VersionNumber": "id",
            "Title": "text",
        },
        ("Id", "ScriptId", "CreationDate", "VersionNumber"),
        optional=("ScriptLanguageId",),
        needed=True,
    ),
    "KernelVersionCompetitionSources": Table(
        {"KernelVersionId": "id", "SourceCompetitionId": "id"},
        ("KernelVersionId", "SourceCompetitionId"),
        needed=True,
    ),
    "KernelVotes": Table(
        {"UserId": "id", "KernelVersionId": "id", "VoteDate": "time"},
        ("UserId", "KernelVersionId", "VoteDate"),
        without="votes for notebooks",
    ),
    "KernelLanguages": Table({"Id": "id", "Name": "text"}, ("Id",), without="languages of notebooks"),
    "KernelVersionDatasetSources": Table(
        {"KernelVersionId": "id", "SourceDatasetVersionId": "id"},
        ("KernelVersionId", "SourceDatasetVersionId"),
        without="datasets that notebooks use",
    ),
    "KernelVersionKernelSources": Table(
        {"KernelVersionId": "id", "SourceKernelVersionId": "id"},
        ("KernelVersionId", "SourceKernelVersionId"),
        without="notebooks that notebooks use",
    ),
    "UserAchievements": Table(
        {"UserId": "id", "Tier": "id", "TierAchievementDate": "time"},
        ("UserId", "Tier", "TierAchievementDate"),
        without="tiers by date",
    ),
    "Submissions": Table(
        {
            "TeamId": "id",
            "SourceKernelVersionId": "id",
            "SubmissionDate": "time",
            "ScoreDate": "time",
            "PublicScoreFullPrecision": "number",
            "PublicScoreLeaderboardDisplay": "number",
        },
        ("SourceKernelVersionId", "SubmissionDate"),
        optional=("TeamId", "ScoreDate", "PublicScoreFullPrecision", "PublicScoreLeaderboardDisplay"),
        without="public scores",
    ),
    "Teams": Table(
        {"Id": "id", "CompetitionId": "id"}, ("Id", "CompetitionId"), without="whose score it is"
    ),
    "ForumTopics": Table(
        {
            "Id": "id",
            "ForumId": "id",
            "FirstForumMessageId": "id",
            "CreationDate": "time",
            "Title": "text",
        },
        ("Id", "ForumId", "CreationDate"),
        optional=("FirstForumMessageId",),
        without="discussions",
    ),
    "ForumMessages": Table(
        {
            "Id": "id",
            "ForumTopicId": "id",
            "PostUserId": "id",
            "PostDate": "time",
            "ReplyToForumMessageId": "id",
            "Message": "text",
            "RawMarkdown": "text",
        },
        ("Id", "ForumTopicId", "PostDate"),
        optional=("ReplyToForumMessageId", "RawMarkdown"),
        without="comments",
    ),
    "ForumMessageVotes": Table(
        {"ForumMessageId": "id", "FromUserId": "id", "VoteDate": "time"},
        ("ForumMessageId", "FromUserId", "VoteDate"),
        without="votes for discussions and comments",
    ),
    "Datasets": Table(
        {"Id": "id", "OwnerUserId": "id", "OwnerOrganizationId": "id", "CreatorUserId": "id"},
        ("Id",),
        optional=("OwnerUserId", "OwnerOrganizationId", "CreatorUserId"),
        without="datasets",
    ),
    "DatasetVersions": Table(
        {
            "Id": "id",
            "DatasetId": "id",
            "VersionNumber": "id",
            "CreationDate": "time",
            "Title": "text",
            "Slug": "text",
            "LicenseName": "text",
        },
        ("Id", "DatasetId", "VersionNumber", "CreationDate", "Slug"),
        optional=("LicenseName",),
        without="versions of datasets",
    ),
    "Organizations": Table(
        {"Id": "id", "Slug": "text"}, ("Id", "Slug"), without="names of organizations that own datasets"
    ),
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


def typed(table: Table, there: list[str]) -> str:
    """Return how the columns of a table are read from text; one that is not there is empty."""
    parts = []
    for column, kind in table.columns.items():
        name = f'"{column}"'
        read = _READ[kind].format(name) if column in there else f"NULL::{_TYPES[kind]}"
        parts.append(f"{read} AS {name}")
    return ", ".join(parts)


def types(table: Table) -> dict[str, str]:
    """Return the columns of a table as the engine knows them."""
    return {column: _TYPES[kind] for column, kind in table.columns.items()}
