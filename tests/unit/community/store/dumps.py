"""A small dump in the layouts of Meta Kaggle and Meta Kaggle Code."""

import csv
from pathlib import Path
from typing import Any

Rows = dict[str, list[dict[str, Any]]]


def tables() -> Rows:
    """Return the rows of two competitions, each with its forum."""
    return {
        "Competitions": [
            {"Id": 1, "Slug": "titanic", "ForumId": 11},
            {"Id": 2, "Slug": "leaf", "ForumId": 12},
        ],
        "Users": [
            {"Id": 21, "UserName": "ada", "PerformanceTier": 3},
            {"Id": 22, "UserName": "bob", "PerformanceTier": 1},
        ],
        "UserAchievements": [
            {"UserId": 21, "Tier": 2, "TierAchievementDate": "03/05/2023"},
            {"UserId": 21, "Tier": 3, "TierAchievementDate": "03/20/2023"},
        ],
        "KernelLanguages": [{"Id": 8, "Name": "IPython Notebook"}, {"Id": 5, "Name": "R"}],
        "Kernels": [
            _kernel(31, 21, "first", "", "03/01/2023"),
            _kernel(32, 22, "fork", 1001, "03/04/2023"),
        ],
        "KernelVersions": [
            _version(1001, 31, "03/01/2023 12:00:00", 1.0, "First"),
            _version(1002, 31, "03/10/2023 12:00:00", 2.0, "First, better"),
            _version(1003, 32, "03/04/2023 12:00:00", 1.0, "Fork"),
        ],
        "KernelVersionCompetitionSources": [
            {"KernelVersionId": 1001, "SourceCompetitionId": 1},
            {"KernelVersionId": 1002, "SourceCompetitionId": 1},
            {"KernelVersionId": 1003, "SourceCompetitionId": 1},
        ],
        "KernelVersionDatasetSources": [{"KernelVersionId": 1002, "SourceDatasetVersionId": 51}],
        "KernelVersionKernelSources": [{"KernelVersionId": 1003, "SourceKernelVersionId": 1001}],
        "KernelVotes": [
            {"UserId": 22, "KernelVersionId": 1001, "VoteDate": "03/03/2023"},
            {"UserId": 23, "KernelVersionId": 1002, "VoteDate": "03/12/2023"},
        ],
        "Submissions": [
            _submission(1001, "03/02/2023", 0.7, 61),
            _submission(1002, "03/11/2023", 0.8, 61),
        ],
        "Teams": [{"Id": 61, "CompetitionId": 1}],
        "ForumTopics": [
            _topic(71, 11, 81, "03/02/2023 08:00:00"),
            _topic(72, 12, 84, "03/02/2023 08:00:00"),
        ],
        "ForumMessages": [
            _message(81, 71, 21, "03/02/2023 08:00:00", "", "<p>Scale <b>first</b>.</p><img src='x'>"),
            _message(82, 71, 22, "03/03/2023 08:00:00", 81, "Why?"),
            _message(83, 71, 21, "03/09/2023 08:00:00", 82, "It helps."),
            _message(84, 72, 21, "03/02/2023 08:00:00", "", "Leaves."),
        ],
        "ForumMessageVotes": [
            {"ForumMessageId": 81, "FromUserId": 22, "VoteDate": "03/02/2023"},
            {"ForumMessageId": 82, "FromUserId": 21, "VoteDate": "03/05/2023"},
        ],
        "Datasets": [{"Id": 41, "OwnerUserId": 22, "OwnerOrganizationId": "", "CreatorUserId": 22}],
        "DatasetVersions": [
            {
                "Id": 51,
                "DatasetId": 41,
                "VersionNumber": 1.0,
                "CreationDate": "03/06/2023 12:00:00",
                "Title": "More ships",
                "Slug": "ships",
                "LicenseName": "CC0",
            }
        ],
        "Organizations": [{"Id": 1, "Slug": "org"}],
    }


def write_dump(folder: Path, rows: Rows | None = None) -> Path:
    """Write tables as Kaggle does."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, given in (tables() if rows is None else rows).items():
        with (folder / f"{name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(given[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(given)
    return folder


def write_code(folder: Path, **programs: str) -> Path:
    """Write source code of versions, `v1001="..."`, in the layout of Meta Kaggle Code."""
    for name, source in programs.items():
        number = int(name[1:])
        place = folder / f"{number // 1_000_000:04d}" / f"{number // 1000 % 1000:03d}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number}.py").write_text(source)
    return folder


def _kernel(number: int, author: int, slug: str, parent: int | str, public: str) -> dict[str, Any]:
    return {
        "Id": number,
        "AuthorUserId": author,
        "CurrentUrlSlug": slug,
        "ForkParentKernelVersionId": parent,
        "MadePublicDate": public,
    }


def _version(number: int, kernel: int, created: str, version: float, title: str) -> dict[str, Any]:
    return {
        "Id": number,
        "ScriptId": kernel,
        "ScriptLanguageId": 8,
        "CreationDate": created,
        "VersionNumber": version,
        "Title": title,
    }


def _submission(version: int, day: str, score: float, team: int) -> dict[str, Any]:
    return {
        "TeamId": team,
        "SourceKernelVersionId": version,
        "SubmissionDate": day,
        "ScoreDate": day,
        "PublicScoreFullPrecision": score,
        "PublicScoreLeaderboardDisplay": round(score, 1),
    }


def _topic(number: int, forum: int, first: int, created: str) -> dict[str, Any]:
    return {
        "Id": number,
        "ForumId": forum,
        "FirstForumMessageId": first,
        "CreationDate": created,
        "Title": f"Thread {number}",
    }


def _message(
    number: int, topic: int, author: int, posted: str, answers: int | str, text: str
) -> dict[str, Any]:
    return {
        "Id": number,
        "ForumTopicId": topic,
        "PostUserId": author,
        "PostDate": posted,
        "ReplyToForumMessageId": answers,
        "Message": text,
        "RawMarkdown": "",
    }
