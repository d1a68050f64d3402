"""The as-of store on a dump of Meta Kaggle's size, beside pandas on the same files in the same run."""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

VERSIONS, VOTES = 1_000_000, 5_000_000
MOMENT = datetime(2022, 1, 1, tzinfo=UTC)
COMPETITION = "contest-0"
"""The largest: it has a twentieth of everything."""

TABLES = {
    "Competitions": "SELECT i AS Id, 'contest-' || i AS Slug, i + 1 AS ForumId FROM range(500) t(i)",
    "Users": """
        SELECT i + 1 AS Id, 'user-' || i AS UserName, 'User ' || i AS DisplayName,
            '01/01/2015' AS RegisterDate, i % 5 AS PerformanceTier
        FROM range({versions} // 5) t(i)
    """,
    "UserAchievements": """
        SELECT i AS Id, i % ({versions} // 5) + 1 AS UserId, 'Scripts' AS AchievementType,
            1 + i % 4 AS Tier,
            strftime(DATE '2018-01-01' + (hash(i) % 1800)::INTEGER, '%m/%d/%Y') AS TierAchievementDate
        FROM range({versions} // 10) t(i)
    """,
    "KernelLanguages": "SELECT 1 AS Id, 'Python' AS Name UNION ALL SELECT 8, 'IPython Notebook'",
    "Kernels": """
        SELECT i + 1 AS Id, hash(i) % ({versions} // 5) + 1 AS AuthorUserId,
            'notebook-' || i AS CurrentUrlSlug,
            CASE WHEN i % 4 = 0 AND i > 0 THEN 5 * (hash(i) % i) + 1 END AS ForkParentKernelVersionId,
            strftime(DATE '2018-01-01' + (hash(i) % 1800)::INTEGER, '%m/%d/%Y') AS MadePublicDate
        FROM range({versions} // 5) t(i)
    """,
    "KernelVersions": """
        SELECT i + 1 AS Id, i // 5 + 1 AS ScriptId, 1 + 7 * (i % 2) AS ScriptLanguageId,
            strftime(TIMESTAMP '2018-01-01' + to_days((hash(i // 5) % 1800 + i % 5)::INTEGER)
                + to_seconds((hash(i) % 86400)::INTEGER), '%m/%d/%Y %H:%M:%S') AS CreationDate,
            (i % 5 + 1)::DOUBLE AS VersionNumber, 'A notebook on features ' || i // 5 AS Title
        FROM range({versions}) t(i)
    """,
    "KernelVersionCompetitionSources": """
        SELECT i AS Id, i + 1 AS KernelVersionId,
            CASE WHEN hash(i // 5) % 20 = 0 THEN 0 ELSE hash(i // 5) % 500 END AS SourceCompetitionId
        FROM range({versions}) t(i)
    """,
    "KernelVotes": """
        SELECT i AS Id, hash(i) % ({versions} // 5) + 1 AS UserId,
            hash(i * 7) % {versions} + 1 AS KernelVersionId,
            strftime(DATE '2018-01-01' + (hash(i * 3) % 2200)::INTEGER, '%m/%d/%Y') AS VoteDate
        FROM range({votes}) t(i)
    """,
    "Submissions": """
        SELECT i AS Id, i AS TeamId, hash(i) % {versions} + 1 AS SourceKernelVersionId,
            strftime(DATE '2018-01-01' + (hash(i) % 2200)::INTEGER, '%m/%d/%Y') AS SubmissionDate,
            0.5 + i % 1000 / 2000 AS PublicScoreFullPrecision,
            round(0.5 + i % 1000 / 2000, 2) AS PublicScoreLeaderboardDisplay
        FROM range({versions} // 10) t(i)
    """,
    "ForumTopics": """
        SELECT i + 1 AS Id, CASE WHEN hash(i) % 20 = 0 THEN 1 ELSE hash(i) % 500 + 1 END AS ForumId,
            5 * i + 1 AS FirstForumMessageId,
            strftime(TIMESTAMP '2018-01-01' + to_days((hash(i) % 1800)::INTEGER), '%m/%d/%Y %H:%M:%S')
                AS CreationDate,
            'Question ' || i AS Title
        FROM range({versions} // 20) t(i)
    """,
    "ForumMessages": """
        SELECT i + 1 AS Id, i // 5 + 1 AS ForumTopicId, hash(i) % ({versions} // 5) + 1 AS PostUserId,
            strftime(TIMESTAMP '2018-01-01' + to_days((hash(i // 5) % 1800 + i % 5)::INTEGER),
                '%m/%d/%Y %H:%M:%S') AS PostDate,
            CASE WHEN i % 5 > 0 THEN i END AS ReplyToForumMessageId,
            '<p>' || repeat('Some words, and a "quote" on this. ', 8) || i || '</p>' AS Message,
            '' AS RawMarkdown
        FROM range({versions} // 4) t(i)
    """,
}


def write_dump(folder: Path, versions: int, votes: int) -> None:
    """Write a synthetic dump in Meta Kaggle's layout."""
    import duckdb

    for name, query in TABLES.items():
        rows = duckdb.sql(query.replace("{versions}", str(versions)).replace("{votes}", str(votes)))
        rows.write_csv(str(folder / f"{name}.csv"), header=True)


def import_dump(dump: Path, store: Path) -> int:
    """Import it; returns how many notebook versions there are."""
    from comind.community.store.importing import import_into
    from comind.community.store.meta_kaggle import dump_source

    return import_into(store, dump_source(dump)).record.taken["notebooks"]


def ask_store(_: Path, store: Path) -> list[int]:
    """Return how many notebooks, votes and discussions one competition had, out of the store."""
    from comind.community.asof import as_of
    from comind.community.store.as_of_store import CommunityStore

    view = as_of(CommunityStore.open(store).items(COMPETITION, MOMENT), MOMENT)
    return [len(view.notebooks), sum(each.votes for each in view.notebooks), len(view.discussions)]


def ask_pandas(dump: Path, _: Path) -> list[int]:
    """Return the same, out of the CSV files by pandas."""
    import pandas as pd

    def table(name: str, *columns: str) -> Any:
        return pd.read_csv(dump / f"{name}.csv", usecols=list(columns))

    def time_of(column: Any, form: str = "%m/%d/%Y") -> Any:
        days = pd.Timedelta(days=int(form == "%m/%d/%Y"))
        return pd.to_datetime(column, format=form, utc=True) + days

    full = "%m/%d/%Y %H:%M:%S"
    contests = table("Competitions", "Id", "Slug", "ForumId")
    [(contest, forum)] = (
        contests.loc[contests.Slug == COMPETITION, ["Id", "ForumId"]].to_numpy().tolist()
    )
    sources = table("KernelVersionCompetitionSources", "KernelVersionId", "SourceCompetitionId")
    versions = table("KernelVersions", "Id", "ScriptId", "CreationDate", "VersionNumber", "Title")
    kernels = table("Kernels", "Id", "AuthorUserId", "CurrentUrlSlug", "MadePublicDate")
    users = table("Users", "Id", "UserName")
    votes = table("KernelVotes", "UserId", "KernelVersionId", "VoteDate")
    topics = table("ForumTopics", "Id", "ForumId", "FirstForumMessageId", "CreationDate", "Title")
    messages = table("ForumMessages", "Id", "ForumTopicId", "PostUserId", "PostDate", "Message")

    versions["ScriptId"] = versions.ScriptId.astype("int64")
    votes = votes.merge(versions[["Id", "ScriptId"]], left_on="KernelVersionId", right_on="Id")
    votes = votes[time_of(votes.VoteDate) <= MOMENT]
    mine = sources.loc[sources.SourceCompetitionId == contest, "KernelVersionId"]
    there = versions[versions.Id.isin(mine)].merge(kernels, left_on="ScriptId", right_on="Id")
    there = there.merge(users, left_on="AuthorUserId", right_on="Id")
    public = pd.concat([time_of(there.CreationDate, full), time_of(there.MadePublicDate)], axis=1).max(
        axis=1
    )
    there = there[public <= MOMENT].drop_duplicates("ScriptId")
    counted = votes.drop_duplicates(["ScriptId", "UserId"]).groupby("ScriptId").size()
    total = int(there.ScriptId.map(counted).fillna(0).sum())
    topics = topics[(topics.ForumId == forum) & (time_of(topics.CreationDate, full) <= MOMENT)]
    messages = messages[messages.ForumTopicId.isin(topics.Id)]
    messages = messages[time_of(messages.PostDate, full) <= MOMENT]
    return [len(there), total, len(topics) if len(messages) else 0]


STEPS: dict[str, Callable[[Path, Path], object]] = {
    "import": import_dump,
    "store": ask_store,
    "pandas": ask_pandas,
}


def measured(step: str, dump: Path, store: Path) -> tuple[Any, float, float]:
    """Run a step in a process of its own; returns its result, seconds, and megabytes at most."""
    done = subprocess.run(
        [sys.executable, __file__, "--step", step, "--dump", str(dump), "--store", str(store)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    result, seconds, megabytes = json.loads(done.stdout)
    return result, seconds, megabytes


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--versions", type=int, default=VERSIONS)
    parser.add_argument("--votes", type=int, default=VOTES)
    parser.add_argument("--step", choices=STEPS)
    parser.add_argument("--dump", type=Path)
    parser.add_argument("--store", type=Path)
    given = parser.parse_args()
    if given.step:
        begun = time.perf_counter()
        result = STEPS[given.step](given.dump, given.store)
        seconds = time.perf_counter() - begun
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps([result, seconds, peak]))
        return
    root = Path(tempfile.mkdtemp(prefix="b-"))
    try:
        dump, store = root / "dump", root / "store"
        dump.mkdir()
        write_dump(dump, given.versions, given.votes)
        size = sum(path.stat().st_size for path in dump.iterdir()) / 1e6
        count, seconds, memory = measured("import", dump, store)
        kept = sum(path.stat().st_size for path in store.rglob("*") if path.is_file()) / 1e6
        print(
            f"import of {count} notebook versions and {given.votes} votes ({size:.0f} MB of CSV): "
            f"{seconds:.1f} s, {memory:.0f} MB; the store has {kept:.0f} MB"
        )
        ours, seconds, memory = measured("store", dump, store)
        theirs, beside, other = measured("pandas", dump, store)
        assert ours == theirs, (ours, theirs)
        print(
            f"one competition as of a moment ({ours[0]} notebooks, {ours[1]} votes, {ours[2]} "
            f"discussions): {seconds:.1f} s, {memory:.0f} MB; pandas over the CSV files {beside:.1f} s, "
            f"{other:.0f} MB "
            f"({seconds / beside:.2f}x the time, {memory / other:.2f}x the memory)"
        )
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
