"""Serve live pages of a project's campaigns and the reports of its benches, on the loopback.

GET /                  all campaigns, newest first; the page reloads itself
GET /campaigns/NAME    the page of one; it updates while the campaign runs
GET /benches/NAME      the report of a bench
"""

import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from comind.campaign.log.campaign_folders import CampaignFolder, ProjectFolder
from comind.campaign.reports.campaign_view import read_view
from comind.campaign.reports.page.score_chart import duration
from comind.errors import ComindError, UsageError
from comind.system.html_pages import html_templates
from comind.system.request_guard import RequestGuard
from comind.system.web_server import WebServer

_RELOAD_SECONDS = 5
_MAX_BODY_BYTES = 1 << 16  # no page reads one
_REPORT = "report.html"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


class _Row(NamedTuple):
    """A campaign in the list."""

    name: str
    agent: str
    model: str
    state: str
    best: str
    attempts: int
    time: str
    usd: str


class CampaignPages(WebServer):
    """Serves the pages; each is rendered again only when a log of its campaign has changed."""

    def __init__(self, project: Path, render: Callable[[CampaignFolder], str], port: int = 0) -> None:
        """Bind the port; 0 is any free one. `render` returns the page of a campaign.

        Raises:
            UsageError: the port cannot be bound.
        """
        self._project, self._render = ProjectFolder(project), render
        self._pages = dict[str, tuple[str, str]]()
        self._rows = dict[str, tuple[str, _Row]]()
        routes = [
            Route("/", self._index),
            Route("/campaigns/{name}", self._campaign),
            Route("/benches/{name}", self._bench),
        ]
        handlers = {ComindError: _failed}
        app = Starlette(routes=routes, exception_handlers=handlers)
        try:
            super().__init__(RequestGuard(app, pages=True, max_bytes=_MAX_BODY_BYTES), port=port)
        except OSError as error:
            reason = (error.strerror or "refused").lower()
            raise UsageError(f"port {port}: {reason}", hint="name another one with --port") from None

    async def _index(self, _request: Request) -> Response:
        page = await run_in_threadpool(self._list)
        headers = {"Refresh": str(_RELOAD_SECONDS), "Content-Security-Policy": _POLICY}
        return HTMLResponse(page, headers=headers)

    def _list(self) -> str:
        names = self._project.campaigns()
        folders = [self._project.campaign(name) for name in names]
        rows = sorted(map(self._row, folders), key=lambda pair: pair[0], reverse=True)
        return (
            html_templates("comind.app")
            .get_template("campaigns.html.j2")
            .render(
                project=self._project.root.name,
                campaigns=[row for _, row in rows],
                benches=[
                    path.parent.name for path in sorted(self._project.benches.glob(f"*/{_REPORT}"))
                ],
            )
        )

    def _row(self, folder: CampaignFolder) -> tuple[float, _Row]:
        """Return when a folder of a campaign last changed, in seconds, and the row."""
        version = _version(folder)
        if self._rows.get(folder.name, ("",))[0] != version:
            self._rows[folder.name] = version, _row_of(folder)
        return folder.root.stat().st_ctime, self._rows[folder.name][1]

    async def _campaign(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in self._project.campaigns():
            return PlainTextResponse(f"there is no campaign {name}\n", 404)
        folder = self._project.campaign(name)
        version = await run_in_threadpool(_version, folder)
        headers = {"ETag": f'"{version}"', "Cache-Control": "no-cache"}
        if request.headers.get("If-None-Match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        if self._pages.get(name, ("",))[0] != version:
            page = await run_in_threadpool(partial(self._render, folder))
            self._pages = {name: (version, page)}  # one is kept: it may have megabytes
        return HTMLResponse(self._pages[name][1], headers=headers)

    async def _bench(self, request: Request) -> Response:
        name = request.path_params["name"]
        known = {path.parent.name: path for path in self._project.benches.glob(f"*/{_REPORT}")}
        if name not in known:
            return PlainTextResponse(f"there is no report of a bench {name}\n", 404)
        return HTMLResponse(await run_in_threadpool(known[name].read_text, encoding="utf-8"))


def _version(folder: CampaignFolder) -> str:
    """Return a hash of sizes and times of a campaign's logs."""
    facts = [(each.name, each.stat()) for each in (folder.log, *folder.logs()) if each.is_file()]
    text = repr([(name, found.st_size, found.st_mtime_ns) for name, found in facts])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _row_of(folder: CampaignFolder) -> _Row:
    try:
        view = read_view(folder)
        spec, spend, best = view.state.spec, view.spend, view.best
        return _Row(
            name=folder.name,
            agent=spec.agent,
            model=spec.model,
            state=view.status,
            best=f"{best.score} ({best.work_id})" if best else "",
            attempts=view.attempts[0],
            time=duration(spend.seconds),
            usd=f"${spend.usd:.2f}",
        )
    except ComindError as error:
        return _Row(folder.name, "", "", str(error), "", 0, "", "")


async def _failed(_request: Request, error: Exception) -> Response:
    return PlainTextResponse(f"{error}\n", 500)
