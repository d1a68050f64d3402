"""Check this machine: sandboxes, git, packages, the configured model endpoint, Kaggle."""

import argparse
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

from comind.app.defaults import TOOLBOX_LOCK
from comind.app.params import read_params
from comind.app.paths import find_project
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.work.project_budget import ProjectBudget, limit_spent
from comind.cli.command import CommandResult
from comind.domain.resources import TOOLBOX, toolbox_packages
from comind.errors import ComindError, KaggleAccountError, SandboxError, ServiceError, UsageError
from comind.reporting.text_table import text_table
from comind.system.extras import install_command
from comind.system.hardware import usable_cores, usable_memory
from comind.system.health import answers
from comind.system.interpreter import PROGRAM, interpreter_for_agents, toolbox_folder

_PROGRAM_SECONDS = 120.0
_PACKAGES = ("prefect", "mlflow", "dvc", "openai", "jupyter_client", "scikit-learn", "torch")
_INSTALL = ["apt-get", "install", "--yes", "--no-install-recommends", "bubblewrap"]


@dataclass
class Check:
    """The result of one check."""

    name: str
    ok: bool
    found: str
    mend: str = ""
    needed: bool = False

    @classmethod
    def of(cls, name: str, find: Callable[[], str]) -> "Check":
        """Return the result of `find`: what it found, or the error that it raised."""
        try:
            return cls(name, ok=True, found=find())
        except ComindError as error:
            return cls(name, ok=False, found=str(error), mend=error.hint)


def run(args: argparse.Namespace) -> CommandResult:
    """Run the command."""
    if args.install or _wanted_interactively():
        _install_bubblewrap()
    checks = [
        Check("python", ok=True, found=f"{sys.version.split()[0]} at {sys.executable}"),
        *_packages(),
        _git(),
        _toolbox(),
        *_sandboxes(),
        _endpoint(),
        *_kaggle(),
        *_servers(),
        *_spend(),
        _machine(),
    ]
    if args.model is not None:
        checks += _model(args.model)
    missing = [check for check in checks if check.needed and not check.ok]
    values = {"ok": not missing, "checks": [asdict(check) for check in checks]}
    if not missing:
        return CommandResult(values=values, text=_table(checks))
    error = ServiceError(f"{missing[0].name}: {missing[0].found}", hint=missing[0].mend)
    return CommandResult.failure(error, values, _table(checks))


def _packages() -> list[Check]:
    checks = []
    for name in _PACKAGES:
        try:
            checks.append(Check(name, ok=True, found=metadata.version(name)))
        except metadata.PackageNotFoundError:
            extra = install_command(name)
            mend = extra or "pip install comind-pipeline"
            checks.append(Check(name, ok=False, found="not installed", mend=mend, needed=not extra))
    return checks


def _git() -> Check:
    program = shutil.which("git")
    if program is None:
        return Check("git", ok=False, found="not installed", mend="apt-get install git", needed=True)
    version = _output([program, "--version"])
    found = version.strip().removeprefix("git version ") or "does not work"
    return Check("git", ok=bool(version), found=found, needed=not version)


def _output(command: Sequence[str | Path]) -> str:
    """Return what a program prints; nothing if it fails or takes longer than two minutes."""
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=_PROGRAM_SECONDS, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def _toolbox() -> Check:
    """Check the environment of model-written code, and list the versions of its packages."""
    used, folder = interpreter_for_agents(), toolbox_folder()
    listed = _output([used.python, "-I", "-c", PROGRAM])
    if not listed:
        return Check("toolbox", ok=False, found=f"{folder} does not work", mend=_to_build(folder))
    python, installed = json.loads(listed)
    versions = toolbox_packages(installed)
    where, mend = f"{folder}", ""
    if not used.toolbox:
        where, mend = "not built; agents' code runs in our own environment", _to_build(folder)
    elif used.toolbox != hashlib.sha256(TOOLBOX_LOCK.read_bytes()).hexdigest():
        where, mend = f"{folder}, of another version of CoMind", _to_build(folder)
    missing = [name for name in TOOLBOX if name not in versions]
    found = f"{where}; Python {python}, {', '.join(f'{n} {v}' for n, v in versions.items())}"
    found += f"; without {', '.join(missing)}" if missing else ""
    return Check("toolbox", ok=bool(used.toolbox), found=found, mend=mend)


def _to_build(folder: Path | None) -> str:
    """Return the command that builds the toolbox."""
    if folder is None:
        return "unset COMIND_TOOLBOX"
    if TOOLBOX_LOCK.is_symlink():  # a clone, with a Makefile
        return "make toolbox"
    box, lock = shlex.quote(str(folder)), shlex.quote(str(TOOLBOX_LOCK))
    return f"uv venv {box} && uv pip sync --python {box} {lock} && cp {lock} {box}/lock.txt"


def _sandboxes() -> list[Check]:
    from comind.session.choice import SANDBOXES, describe_gaps

    def find(name: str) -> str:
        sandbox = SANDBOXES[name]()
        works = "works" if sandbox.name == name else f"works, {sandbox.name}"
        only = "" if sandbox.sealed else "; only for --sandbox process and our own baseline"
        return f"{works}; {sandbox.isolation}{describe_gaps(sandbox)}{only}"

    # Without a sandbox only our own baseline runs, so it is not a failure.
    return [Check.of(f"sandbox {name}", partial(find, name)) for name in SANDBOXES]


def _endpoint() -> Check:
    base_url, key = os.environ.get("OPENAI_BASE_URL"), os.environ.get("OPENAI_API_KEY")
    name = "model endpoint"
    if not base_url and not key:
        found = "none configured; campaigns run the baseline alone (--model offline)"
        return Check(name, ok=True, found=found, mend="set OPENAI_API_KEY or OPENAI_BASE_URL")
    if not base_url:
        return Check(name, ok=True, found="OpenAI, with the key of OPENAI_API_KEY")
    from comind.llm.connection import listed_models

    return Check.of(name, lambda: f"{base_url} serves {listed_models(base_url, key)[0].name}")


def _kaggle() -> list[Check]:
    """Request the account's name from Kaggle; empty where there are no credentials."""
    from comind.kaggle.client import OfficialKaggle

    try:
        endpoint = read_params(find_project(None)).kaggle.endpoint
        account = OfficialKaggle(endpoint).account()
    except ComindError as error:
        if isinstance(error, KaggleAccountError) and error.missing:
            return []
        return [Check("kaggle", ok=False, found=str(error), mend=error.hint)]
    return [Check("kaggle", ok=True, found=f"{endpoint or 'www.kaggle.com'} answers {account}")]


def _spend() -> list[Check]:
    """Compare the cost of all campaigns here with the project's limit; empty where there is neither."""
    try:
        costs = ProjectBudget(ProjectFolder(find_project(None))).costs()
    except ComindError as error:
        return [Check("spend", ok=False, found=str(error), mend=error.hint)]
    if costs.limit is None and not costs.campaigns:
        return []
    if costs.spent:
        found, _, mend = limit_spent(costs).partition(": ")
        return [Check("spend", ok=False, found=found, mend=mend)]
    return [Check("spend", ok=True, found=str(costs))]


def _servers() -> list[Check]:
    """Check the servers that are configured, and the work pool of `solve.pool`; empty without any."""
    from comind.adapters.mlflow.database import tracking_server

    checks = []
    if prefect := os.environ.get("PREFECT_API_URL", ""):
        checks.append(Check.of("prefect server", partial(_prefect_version, prefect)))
    if tracking_server():
        checks.append(Check.of("mlflow server", _mlflow))
    try:
        params = read_params(find_project(None))
    except ComindError:
        return checks  # reported by other commands
    if pool := params.solve.pool:
        checks += _pool(pool, params.nodes)
    return checks


def _prefect_version(address: str) -> str:
    """Return the server's version; `UsageError` if it does not answer or has another minor version."""
    from comind.servers.prefect_client import server_versions

    if not answers(f"{address}/health"):
        raise UsageError(f"{address} does not answer", hint="start it, or unset PREFECT_API_URL")
    return same_minor_version(address, *server_versions())


def same_minor_version(address: str, server: str, here: str) -> str:
    """Return what a server has; `UsageError` if it has another minor version of Prefect than ours."""
    if server.split(".")[:2] != here.split(".")[:2]:
        raise UsageError(
            f"{address} has Prefect {server}, here is {here}", hint="install the same minor version"
        )
    return f"{address} answers, Prefect {server}"


def _mlflow() -> str:
    from comind.servers.tool_servers import prepare_environment

    prepare_environment(find_project(None))  # MLflow reads its settings on import
    from comind.adapters.mlflow.server_errors import require_server

    return f"{require_server()} answers"


def _pool(name: str, settings: Mapping[str, Any]) -> list[Check]:
    """Check what the plug-in for pools lists."""
    from comind.wiring.session_provider import load_pools

    try:
        return [Check.of(*each) for each in load_pools().checks(name, settings)]
    except ComindError as error:
        return [Check(f"pool {name}", ok=False, found=str(error), mend=error.hint)]


def _model(name: str) -> list[Check]:
    """Send a model two requests as a campaign does; report capabilities, context window and price."""
    from comind.llm.costs import known_price
    from comind.llm.openai_model import OpenAIModel
    from comind.llm.probe import probe
    from comind.wiring.agents import all_roles
    from comind.wiring.models import DEFAULT, build_model, context_warnings, resolve_settings

    try:
        params = read_params(find_project(None)).solve
        settings = resolve_settings(name, params.models, {}, all_roles())[DEFAULT]
        model = build_model(name, settings)
        if not isinstance(model, OpenAIModel):
            return [Check(f"model {name}", ok=True, found="needs no endpoint")]
        findings = probe(model)
    except ServiceError as error:
        return [Check(f"model {name}", ok=False, found=str(error), mend=error.hint, needed=True)]
    checks = [Check(f"model: {each.name}", ok=each.ok, found=each.found) for each in findings]
    assumed = context_warnings({DEFAULT: settings})
    context = assumed[0] if assumed else f"{settings.context_tokens} tokens"
    price = "known" if known_price(name, settings.price) else "not known: give it in params.yaml"
    checks += [
        Check("model: context", ok=True, found=context),
        Check("model: price", ok=True, found=price),
    ]
    if not any(each.ok for each in findings[:2]):
        checks[0].needed = True  # a campaign needs a decision or a program
    return checks


def _machine() -> Check:
    memory = usable_memory() / (1 << 30)
    free = shutil.disk_usage(".").free / (1 << 30)
    found = f"{usable_cores()} cores, {memory:.0f} GiB memory, {free:.0f} GiB free here"
    return Check("machine", ok=True, found=found)


def _table(checks: list[Check]) -> str:
    rows = []
    for check in checks:
        rows.append(("ok" if check.ok else "--", check.name, check.found))
        if check.mend:
            rows.append(("", "", check.mend))
    return text_table(rows) + "\n"


def _wanted_interactively() -> bool:
    """Ask on a terminal whether to install bubblewrap, where it is missing and apt-get could."""
    if shutil.which("bwrap") or not _can_install() or not sys.stdin.isatty():
        return False
    print("bubblewrap, the sandbox for model-written code, is missing.")
    print(f"Run '{' '.join(_INSTALL)}' now? [y/N] ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _can_install() -> bool:
    return shutil.which("apt-get") is not None and os.getuid() == 0


def _install_bubblewrap() -> None:
    if shutil.which("bwrap"):
        return
    if not _can_install():
        raise SandboxError(
            "bubblewrap can only be installed by root, with apt-get",
            hint="sudo apt-get install bubblewrap",
        )
    done = subprocess.run(_INSTALL, check=False)
    if done.returncode != 0:
        raise SandboxError("apt-get could not install bubblewrap", hint="see its messages above")
