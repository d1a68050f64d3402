"""The responses of the routes, without HTTP."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from comind.errors import CompetitionError
from comind.live.fault_injection import EntryConditions, RouteError
from comind.live.hosted import HostedCompetition, find_competition_folders
from comind.live.routes import FileContent, FileLink
from comind.live.world import LiveBudget
from tests.unit.community.folders import discussion, notebook
from tests.unit.live.worlds import NOON, Client, leaderboard, open_world, submission, world_folder


@pytest.fixture
def client(tmp_path: Path) -> Client:
    """A client of one competition with a community."""
    folder = world_folder(tmp_path, title="A small competition")
    community = folder / "community"
    (community / "data").mkdir(parents=True)
    (community / "data" / "rows.csv").write_text("a\n1\n")
    answers = [
        {"id": "c1", "author": "bob", "posted_at": "2023-03-02T00:00:00Z", "body": "first"},
        {"id": "c2", "parent": "c1", "author": "ada", "posted_at": "2023-03-03T00:00:00Z", "body": "re"},
        {"id": "x", "parent": "y", "author": "eve", "posted_at": "2023-03-04T00:00:00Z", "body": "ring"},
        {"id": "y", "parent": "x", "author": "eve", "posted_at": "2023-03-05T00:00:00Z", "body": "ring"},
    ]
    many = [discussion(number, title=f"Thread {number}") for number in range(2, 24)]
    times = ["2023-03-03T00:00:00Z"] * 3
    lines: dict[str, list[dict[str, Any]]] = {
        "notebooks.jsonl": [
            notebook("ada/one", 1, vote_times=times, votes=3, public_score=0.5, source="x = 1"),
            notebook("ada/one", 9, version=2, public_score=0.7, source="x = 2", datasets=["bob/rows"]),
            notebook("bob/two", 5, public_score=0.6, title="Two of them"),
            notebook("eve/three", 7, language="r"),
        ],
        "discussions.jsonl": [discussion(1, comments=answers, body="Hello."), *many],
        "datasets.jsonl": [
            {
                "ref": "bob/rows",
                "version": 1,
                "title": "Rows",
                "published_at": "2023-03-01T00:00:00Z",
                "path": "data",
                "licence": "CC0-1.0",
            }
        ],
    }
    for name, written in lines.items():
        (community / name).write_text("".join(json.dumps(line) + "\n" for line in written))
    (community / "outputs" / "ada" / "one" / "2").mkdir(parents=True)
    (community / "outputs" / "ada" / "one" / "2" / "out.csv").write_text("b\n2\n")
    world = open_world(folder, NOON, LiveBudget(submissions_per_day=2), scores="public")
    return Client([HostedCompetition(world, tmp_path / "archives")])


def _refs(answer: Any) -> list[str]:
    return [each["ref"] for each in answer["kernels"]]


@pytest.mark.parametrize(
    ("sort_by", "refs"),
    [
        ("DATE_CREATED", ["ada/one", "eve/three", "bob/two"]),
        ("SCORE_DESCENDING", ["ada/one", "bob/two", "eve/three"]),
        ("SCORE_ASCENDING", ["bob/two", "ada/one", "eve/three"]),
        ("VOTE_COUNT", ["ada/one", "bob/two", "eve/three"]),
        ("HOTNESS", ["ada/one", "eve/three", "bob/two"]),
    ],
)
def test_notebooks_come_in_the_order_asked_for(client: Client, sort_by: str, refs: list[str]) -> None:
    """Notebooks are sorted as requested; those without a score come last in both score orders."""
    assert _refs(client.ask("ListKernels", competition="small", sortBy=sort_by)) == refs


def test_notebooks_are_found_by_what_they_are(client: Client) -> None:
    """Owner, language, dataset and words filter the list."""
    assert _refs(client.ask("ListKernels", user="bob", language="all")) == ["bob/two"]
    assert _refs(client.ask("ListKernels", language="r")) == ["eve/three"]
    assert _refs(client.ask("ListKernels", dataset="bob/rows")) == ["ada/one"]
    assert _refs(client.ask("ListKernels", search="of two")) == ["bob/two"]
    assert client.ask("ListKernels", kernelType="notebook") == {}


def test_a_notebook_is_had_in_any_version(client: Client) -> None:
    """The current version is found by name, an earlier one by `/version`, others are not found."""
    current = client.ask("GetKernel", userName="ada", kernelSlug="one")
    assert (current["blob"]["source"].strip(), current["metadata"]["currentVersionNumber"]) == (
        "x = 2",
        2,
    )
    first = client.ask("GetKernel", userName="ada", kernelSlug="one/1")
    assert first["blob"]["source"].strip() == "x = 1"
    for version in ("3", "x", "-1", "１"):  # noqa: RUF001 - a digit, but not one of ours
        with pytest.raises(RouteError, match="not found"):
            client.ask("GetKernel", userName="ada", kernelSlug=f"one/{version}")


def test_what_a_notebook_left_behind_can_be_fetched(client: Client) -> None:
    """Output files of a version can be downloaded; a notebook without any has none."""
    answer = client.ask("ListKernelSessionOutput", userName="ada", kernelSlug="one")
    (file,) = answer["files"]
    assert file["fileName"] == "out.csv"
    assert client.fetch(FileLink("output", "small", "ada/one", "out.csv", 2)) == b"b\n2\n"
    assert client.ask("ListKernelSessionOutput", userName="bob", kernelSlug="two").get("files") is None
    assert client.ask("GetKernelSessionStatus", userName="bob", kernelSlug="two") == {
        "status": "COMPLETE"
    }


def test_topics_come_page_by_page(client: Client) -> None:
    """Topics are paginated by twenty, with the total count."""
    pages = [client.ask("ListCompetitionTopics", competitionName="small", page=page) for page in (1, 2)]
    titles = [[topic["title"] for topic in page["topics"]] for page in pages]
    assert [len(page) for page in titles] == [20, 3]
    assert len({title for page in titles for title in page}) == 23
    assert pages[0]["totalCount"] == 23


def test_comments_are_a_tree(client: Client) -> None:
    """Replies are nested below their comment; comments that only reply to each other become roots."""
    topics = client.ask(
        "ListCompetitionTopics", competitionName="small", sortBy="TOPIC_LIST_SORT_BY_ACTIVE"
    )
    topic = topics["topics"][0]
    assert (topic["title"], topic["commentCount"]) == ("Thread 1", 4)
    assert client.ask("GetTopic", id=topic["id"])["topic"]["content"] == "Hello."
    comments = client.ask("ListComments", topicId=topic["id"])["comments"]
    shapes = [(c["content"], [r["content"] for r in c.get("replies", [])]) for c in comments]
    assert shapes == [("first", ["re"]), ("ring", ["ring"])]
    messages = client.ask("ListTopicMessages", competitionName="small", topicId=topic["id"], pageSize=-1)
    assert [m["content"] for m in messages["messages"]] == ["Hello.", "first", "ring"]


def test_a_long_row_of_answers_is_flattened(tmp_path: Path) -> None:
    """A chain of a thousand replies is complete, nested at most ten deep."""
    folder = world_folder(tmp_path)
    (folder / "community").mkdir()
    row = [
        {"id": f"c{n}", "parent": f"c{n - 1}" if n else None, "posted_at": "2023-03-02T00:00:00Z"}
        for n in range(1000)
    ]
    thread = discussion(200_000, comments=row)
    (folder / "community" / "discussions.jsonl").write_text(json.dumps(thread) + "\n")
    client = Client([HostedCompetition(open_world(folder, NOON), tmp_path)])

    def depths(comments: list[dict[str, Any]], depth: int = 1) -> list[int]:
        below = [depths(comment.get("replies", []), depth + 1) for comment in comments]
        return [depth] * len(comments) + [each for part in below for each in part]

    found = depths(client.ask("ListComments", topicId=200_000)["comments"])
    assert (len(found), max(found)) == (1000, 10)


def test_a_page_token_that_is_none_is_refused(client: Client) -> None:
    """An invalid page token is a bad request."""
    with pytest.raises(RouteError, match="Invalid page token"):
        client.ask("ListDataFiles", competitionName="small", pageToken="x")


def test_files_come_page_by_page(client: Client) -> None:
    """Each page has the token of the next, and the last has none."""
    names: list[str] = []
    token = ""
    while True:
        page = client.ask("ListDataFiles", competitionName="small", pageSize=3, pageToken=token)
        names += [file["name"] for file in page["files"]]
        token = page.get("nextPageToken", "")
        if not token:
            break
    assert names == ["description.md", "sample_submission.csv", "test.csv", "train.csv"]


def test_a_dataset_has_facts_and_files(client: Client) -> None:
    """A dataset is listed with its size, described with its licence, and downloaded file by file."""
    (listed,) = client.ask("ListDatasets")["datasets"]
    assert (listed["ref"], listed["totalBytes"], listed["currentVersionNumber"]) == ("bob/rows", 4, 1)
    request = {"ownerSlug": "bob", "datasetSlug": "rows"}
    info = client.ask("GetDatasetMetadata", **request)["info"]
    assert info["licenses"] == [{"name": "CC0-1.0"}]
    ticket = client.ask("DownloadDataset", **request, fileName="rows.csv")
    assert isinstance(ticket, FileLink)
    assert client.fetch(ticket) == b"a\n1\n"
    for wrong in ({"fileName": "other.csv"}, {"datasetVersionNumber": 2}, {"datasetSlug": "none"}):
        with pytest.raises(RouteError, match="not found"):
            client.ask("DownloadDataset", **(request | wrong))


def _hand_in(client: Client, content: bytes) -> Any:
    started = client.ask(
        "StartSubmissionUpload",
        competitionName="small",
        contentLength=len(content),
        fileName="../mine.csv",
    )
    client.uploads.write(started["token"], content, 0)
    return client.ask("CreateSubmission", competitionName="small", blobFileTokens=started["token"])


def test_a_submission_goes_in_and_is_listed(client: Client) -> None:
    """A submission is listed with its ref, its file name and the public score alone."""
    folder = client.catalog.find("small").competition.folder
    submitted = _hand_in(client, submission(folder).read_bytes())
    assert submitted["message"] == "Successfully submitted to A small competition"
    (listed,) = client.ask("ListSubmissions", competitionName="small")["submissions"]
    assert (listed["ref"], listed["fileName"], listed["status"]) == (1, "mine.csv", "COMPLETE")
    assert (listed["publicScore"], listed["privateScore"]) == ("1.00000", "")
    facts = client.ask("GetCompetition", competitionName="small")
    assert facts["userRank"] == 1


def test_the_newest_submission_is_listed_first(client: Client) -> None:
    """Submissions are listed newest first; an invalid one has an error and is no successful one."""
    folder = client.catalog.find("small").competition.folder
    _hand_in(client, submission(folder).read_bytes())
    _hand_in(client, b"id,label\n")
    listed = client.ask("ListSubmissions", competitionName="small")["submissions"]
    assert [(each["ref"], each["status"]) for each in listed] == [(2, "ERROR"), (1, "COMPLETE")]
    assert "10 of 10 ids" in listed[0]["errorDescription"]
    group = {"group": "SUBMISSION_GROUP_SUCCESSFUL"}
    good = client.ask("ListSubmissions", competitionName="small", **group)
    assert [each["ref"] for each in good["submissions"]] == [1]


def test_a_spent_allowance_is_refused_before_the_upload(client: Client) -> None:
    """Beyond the daily limit, the upload is refused already, in Kaggle's words."""
    folder = client.catalog.find("small").competition.folder
    for _ in range(2):
        _hand_in(client, submission(folder).read_bytes())
    assert client.ask("GetSubmissionLimits", competitionName="small") == {"numToday": 2, "numTotal": 2}
    with pytest.raises(RouteError, match=r"Submission allowance \(2 of 2\)") as refused:
        _hand_in(client, b"x")
    assert refused.value.code == 400


@pytest.mark.parametrize(
    ("conditions", "code", "said"),
    [
        (EntryConditions(rules_accepted=False), 403, "accept this competition's rules"),
        (EntryConditions(code_only=True), 400, "only accepts Submissions from Notebooks"),
        (EntryConditions(closed=True), 400, "takes no submissions"),
    ],
)
def test_conditions_of_a_competition_are_kept(
    client: Client, conditions: EntryConditions, code: int, said: str
) -> None:
    """A user who does not meet the entry conditions can read, but not submit."""
    client.catalog.faults.set_conditions("small", conditions)
    with pytest.raises(RouteError, match=said) as refused:
        _hand_in(client, b"x")
    assert refused.value.code == code
    facts = client.ask("GetCompetition", competitionName="small")
    assert facts.get("userHasEntered", False) is conditions.rules_accepted
    assert facts.get("isKernelsSubmissionsOnly", False) is conditions.code_only


def test_data_are_for_those_who_accepted_the_rules(client: Client) -> None:
    """Without accepted rules no file can be downloaded, not even by an earlier link."""
    ticket = client.ask("DownloadDataFile", competitionName="small", fileName="train.csv")
    assert isinstance(ticket, FileLink)
    client.catalog.faults.set_conditions("small", EntryConditions(rules_accepted=False))
    for route in ("DownloadDataFile", "DownloadDataFiles"):
        with pytest.raises(RouteError, match="accept this competition's rules"):
            client.ask(route, competitionName="small")
    with pytest.raises(RouteError, match="accept this competition's rules"):
        client.fetch(ticket)


def test_a_version_of_any_length_is_no_server_error(client: Client) -> None:
    """A version number with more digits than Python converts is not found."""
    with pytest.raises(RouteError, match="Notebook not found") as refused:
        client.ask("GetKernel", userName="ada", kernelSlug="one", versionLabel="9" * 5000)
    assert refused.value.code == 404


@pytest.mark.parametrize("given", ["", "mro", "__doc__", "no such order"])
def test_an_unknown_enum_value_is_rejected(client: Client, given: str) -> None:
    """A value that matches no member of the client's enum is a bad request, whatever else it matches."""
    with pytest.raises(ValueError, match="unknown value"):
        client.ask("ListCompetitionTopics", competitionName="small", sortBy=given)


def test_an_unknown_competition_is_not_found(client: Client) -> None:
    """An unknown competition is 404 on every route that names one."""
    for route in ("GetCompetition", "ListDataFiles", "GetLeaderboard", "ListCompetitionTopics"):
        with pytest.raises(RouteError, match="Competition not found"):
            client.ask(route, competitionName="other")


def test_pages_say_what_it_is_about_and_how_it_is_scored(tmp_path: Path) -> None:
    """The evaluation page is a section of the description, or else names the metric."""
    folder = world_folder(tmp_path)
    client = Client([HostedCompetition(open_world(folder, NOON), tmp_path)])
    request = {"competitionName": "small", "pageName": "evaluation"}
    (page,) = client.ask("ListCompetitionPages", **request)["pages"]
    assert page["content"] == "Submissions are scored by accuracy."
    text = "# Small\n\nSay it.\n\n## Evaluation\n\nBy luck.\n\n## Prizes\n\nNone.\n"
    (folder / "public" / "description.md").write_text(text)
    (page,) = client.ask("ListCompetitionPages", **request)["pages"]
    assert page["content"] == "## Evaluation\n\nBy luck."
    names = [p["name"] for p in client.ask("ListCompetitionPages", competitionName="small")["pages"]]
    assert names == ["description", "evaluation", "rules"]


def test_competitions_are_listed_by_word_deadline_and_entry(tmp_path: Path) -> None:
    """Competitions can be searched, sorted by deadline, and filtered by entry."""
    hosted = []
    for name, deadline in (("early", "2023-05-01"), ("late", "2023-06-01")):
        folder = world_folder(tmp_path / name, id=name, deadline=deadline)
        leaderboard(folder, "history.csv", "TeamId,TeamName,SubmissionDate,Score", "1,a,2023-03-01,0.5")
        hosted.append(HostedCompetition(open_world(folder, NOON), tmp_path))
    client = Client(hosted)

    def refs(**request: Any) -> list[str]:
        return [
            each["ref"] for each in client.ask("ListCompetitions", **request).get("competitions", [])
        ]

    assert refs(search="late") == ["late"]
    assert refs(sortBy="COMPETITION_SORT_BY_LATEST_DEADLINE") == ["late", "early"]
    assert refs(sortBy="COMPETITION_SORT_BY_EARLIEST_DEADLINE") == ["early", "late"]
    entered = {"group": "COMPETITION_LIST_TAB_ENTERED"}
    assert refs(**entered) == []
    hosted[1].world.submit(submission(hosted[1].competition.folder), user="ann")
    assert refs(**entered) == ["late"]


def test_a_folder_of_competitions_or_one_of_them_can_be_served(tmp_path: Path) -> None:
    """A folder with a competition.yaml is one competition; a folder without any is refused."""
    folder = world_folder(tmp_path / "all")
    assert find_competition_folders(tmp_path / "all") == [folder]
    assert find_competition_folders(folder) == [folder]
    with pytest.raises(CompetitionError, match="contains no competition folders"):
        find_competition_folders(folder / "public")
    with pytest.raises(CompetitionError, match="does not exist"):
        find_competition_folders(tmp_path / "none")


def test_a_downloaded_leaderboard_has_the_last_submission_of_each_team(tmp_path: Path) -> None:
    """`LastSubmissionDate` is the time of a team's last submission, not of its best one."""
    folder = world_folder(tmp_path)
    rows = ("1,a,2023-03-01,0.9", "1,a,2023-03-05,0.1")
    leaderboard(folder, "history.csv", "TeamId,TeamName,SubmissionDate,Score", *rows)
    client = Client([HostedCompetition(open_world(folder, NOON), tmp_path)])
    answer = client.ask("DownloadLeaderboard", competitionName="small")
    assert isinstance(answer, FileContent)
    with zipfile.ZipFile(io.BytesIO(answer.data)) as archive:
        text = archive.read(archive.namelist()[0]).decode()
    assert text.splitlines()[1:] == ["1,1,a,2023-03-05 00:00:00,0.9"]
