"""Routes of competitions: what they are, their data, their leaderboard, and handing in."""

import csv
import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any, ClassVar, Literal

from comind.errors import LiveError
from comind.live import objects, wire
from comind.live.catalogue import Hosted
from comind.live.routes import Answer, Asker, Content, Handlers, RouteError, Shown, Ticket, page_of
from comind.live.uploads import Uploads

__all__ = ["CompetitionRoutes"]

_FAR = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True)
class CompetitionRoutes:
    """The methods of the client's competition service."""

    _shown: Shown
    _uploads: Uploads
    _grade: Callable[[Hosted, int], None]
    """Has a submission graded, now or soon."""

    def _list(self, asked: Any, asker: Asker) -> Answer:
        words = asked.search.lower().split()
        found = [h for h in self._shown.hosted.values() if all(w in _text(h) for w in words)]
        if asked.group.name == "COMPETITION_LIST_TAB_ENTERED":
            found = [h for h in found if h.world.submissions(asker.user)]
        latest = asked.sort_by.name == "COMPETITION_SORT_BY_LATEST_DEADLINE"
        if latest or asked.sort_by.name == "COMPETITION_SORT_BY_EARLIEST_DEADLINE":
            found.sort(key=lambda h: h.world.deadline or _FAR, reverse=latest)
        page, token = page_of(found, asked)
        listed = [self._facts(h, asker) for h in page]
        return wire.answer("ListCompetitions", competitions=listed, next_page_token=token)

    def _get(self, asked: Any, asker: Asker) -> Answer:
        return wire.one(self._facts(self._shown.find(asked.competition_name), asker))

    def _facts(self, hosted: Hosted, asker: Asker) -> Any:
        world, conditions = hosted.world, self._shown.faults.of(hosted.id)
        board = world.board("private" if world.final else "public")
        return wire.made(
            wire.competitions.ApiCompetition,
            id=wire.number(hosted.id, "competition", hosted.id),
            ref=hosted.id,
            title=hosted.competition.title,
            url=f"https://www.kaggle.com/competitions/{hosted.id}",
            description=hosted.competition.title,
            category="Replayed",
            deadline=world.deadline,
            kernel_count=len(world.community.view(world.clock.moment).notebooks),
            team_count=len(board.entries),
            user_has_entered=conditions.rules_accepted,
            user_rank=world.rank(asker.user),
            max_daily_submissions=world.budget.submissions_per_day,
            evaluation_metric=hosted.competition.metric,
            is_kernels_submissions_only=conditions.code_only,
            submissions_disabled=conditions.closed or world.over,
        )

    def _pages(self, asked: Any, _asker: Asker) -> Answer:
        pages = self._shown.find(asked.competition_name).pages()
        wanted = [name for name in pages if asked.page_name in ("", None, name)]
        listed = [objects.page(name, pages[name]) for name in wanted]
        return wire.answer("ListCompetitionPages", pages=listed)

    # --- data ------------------------------------------------------------------------------------

    def _files(self, asked: Any, _asker: Asker) -> Answer:
        hosted = self._shown.find(asked.competition_name)
        page, token = page_of(hosted.facts(hosted.files), asked)
        listed = [objects.data_file(wire.competitions.ApiDataFile, each) for each in page]
        return wire.answer("ListDataFiles", files=listed, next_page_token=token)

    def _download_file(self, asked: Any, _asker: Asker) -> Answer:
        hosted = self._shown.enter(asked.competition_name)
        if hosted.files.find(asked.file_name) is None:
            raise RouteError(404, "File not found")
        return Ticket("data", hosted.id, name=asked.file_name)

    def _download_files(self, asked: Any, _asker: Asker) -> Answer:
        return Ticket("data", self._shown.enter(asked.competition_name).id)

    # --- leaderboard -----------------------------------------------------------------------------

    def _leaderboard(self, asked: Any, _asker: Asker) -> Answer:
        world = self._shown.find(asked.competition_name).world
        private = world.final and not asked.override_public
        board = world.leaderboard("private" if private else "public")
        page, token = page_of(board.entries, asked)
        rows = [objects.leaderboard_row(entry) for entry in page]
        return wire.answer("GetLeaderboard", submissions=rows, next_page_token=token)

    def _download_leaderboard(self, asked: Any, _asker: Asker) -> Answer:
        world = self._shown.find(asked.competition_name).world
        kind: Literal["public", "private"] = "private" if world.final else "public"
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(["Rank", "TeamId", "TeamName", "LastSubmissionDate", "Score"])
        for place, entry in enumerate(world.leaderboard(kind).entries, start=1):
            at = entry.at.strftime("%Y-%m-%d %H:%M:%S") if entry.at else ""
            table.writerow([place, entry.team_id, entry.team, at, entry.written])
        data = io.BytesIO()
        name = world.competition.id
        with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
            file = zipfile.ZipInfo(f"{name}-{kind}leaderboard.csv")
            archive.writestr(file, text.getvalue())
        return Content(data.getvalue(), f"{name}.zip", "application/zip")

    # --- handing in ------------------------------------------------------------------------------

    def _limits(self, asked: Any, asker: Asker) -> Answer:
        world = self._shown.find(asked.competition_name).world
        return wire.one(objects.limits(world.limits(asker.user)))

    def _open(self, name: str, asker: Asker) -> Hosted:
        """Return a competition that takes a submission from this user now."""
        hosted = self._shown.find(name)
        conditions = self._shown.faults.of(hosted.id)
        if not conditions.rules_accepted:
            raise RouteError(403, "You must accept this competition's rules before you can submit.")
        if conditions.closed:
            raise RouteError(400, "Submission not allowed: this competition takes no submissions.")
        if conditions.code_only:
            raise RouteError(
                400, "Submission not allowed: This competition only accepts Submissions from Notebooks."
            )
        try:
            hosted.world.check_open(asker.user)
        except LiveError as error:
            raise RouteError(400, str(error)) from None
        return hosted

    def _start_upload(self, asked: Any, asker: Asker) -> Answer:
        if asked.competition_name:
            self._open(asked.competition_name, asker)
        name = PurePosixPath(asked.file_name).name or "submission.csv"
        token = self._uploads.expect(asker.user, name, asked.content_length)
        url = f"{asker.base_url}/upload/{token}"
        return wire.answer("StartSubmissionUpload", token=token, create_url=url)

    def _submit(self, asked: Any, asker: Asker) -> Answer:
        hosted = self._open(asked.competition_name, asker)
        arrived = self._uploads.take(asked.blob_file_tokens, asker.user)
        try:
            submission = hosted.world.accept(
                arrived.content,
                asked.submission_description,
                user=asker.user,
                file_name=arrived.name,
            )
        except LiveError as error:
            raise RouteError(400, str(error)) from None
        self._grade(hosted, submission.ref)
        told = f"Successfully submitted to {hosted.competition.title}"
        return wire.answer("CreateSubmission", ref=submission.ref, message=told)

    def _submit_code(self, asked: Any, _asker: Asker) -> Answer:
        self._shown.find(asked.competition_name)
        raise RouteError(400, "Submission not allowed: notebooks are not run here.")

    def _submissions(self, asked: Any, asker: Asker) -> Answer:
        made = self._shown.find(asked.competition_name).world.submissions(asker.user)[::-1]
        if asked.group.name == "SUBMISSION_GROUP_SUCCESSFUL":
            made = [each for each in made if each.status == "complete"]
        page, token = page_of(made, asked)
        listed = [objects.submission(each) for each in page]
        return wire.answer("ListSubmissions", submissions=listed, next_page_token=token)

    def _submission(self, asked: Any, asker: Asker) -> Answer:
        _, found = self._own(asked.ref, asker)
        return wire.one(objects.submission(found))

    def _download_submission(self, asked: Any, asker: Asker) -> Answer:
        hosted, found = self._own(asked.submission_id, asker)
        return Ticket("submission", hosted.id, ref=str(found.ref), name=found.file_name)

    def _own(self, ref: int, asker: Asker) -> tuple[Hosted, Any]:
        for hosted in self._shown.hosted.values():
            found = hosted.world.submission(ref)
            if found is not None and found.user == asker.user:
                return hosted, found
        raise RouteError(404, "Submission not found")

    ROUTES: ClassVar[Handlers] = {
        "competitions.CompetitionApiService/ListCompetitions": _list,
        "competitions.CompetitionApiService/GetCompetition": _get,
        "competitions.CompetitionApiService/ListCompetitionPages": _pages,
        "competitions.CompetitionApiService/ListDataFiles": _files,
        "competitions.CompetitionApiService/DownloadDataFile": _download_file,
        "competitions.CompetitionApiService/DownloadDataFiles": _download_files,
        "competitions.CompetitionApiService/GetLeaderboard": _leaderboard,
        "competitions.CompetitionApiService/DownloadLeaderboard": _download_leaderboard,
        "competitions.CompetitionApiService/GetSubmissionLimits": _limits,
        "competitions.CompetitionApiService/StartSubmissionUpload": _start_upload,
        "competitions.CompetitionApiService/CreateSubmission": _submit,
        "competitions.CompetitionApiService/CreateCodeSubmission": _submit_code,
        "competitions.CompetitionApiService/ListSubmissions": _submissions,
        "competitions.CompetitionApiService/GetSubmission": _submission,
        "competitions.CompetitionApiService/DownloadSubmission": _download_submission,
    }


def _text(hosted: Hosted) -> str:
    return f"{hosted.id} {hosted.competition.title}".lower()
