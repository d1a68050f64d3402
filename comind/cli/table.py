"""The table of commands: only the module of the one that is named is imported."""

from typing import NamedTuple


class Command(NamedTuple):
    """A command: the module with its `add_arguments`, and a line for `comind --help`."""

    module: str
    summary: str


COMMANDS = {
    "init": Command(
        "comind.cli.init", "Make a project in a folder: its files, a git and a DVC repository."
    ),
    "solve": Command(
        "comind.cli.solve", "Solve a competition: a resumable campaign that ends with a submission."
    ),
    "inspect": Command(
        "comind.cli.inspect_files", "Show how a competition's files are understood; nothing is run."
    ),
    "grade": Command(
        "comind.cli.grade", "Grade a submission on the true answers of a past competition."
    ),
    "track": Command(
        "comind.cli.track", "Follow a live competition on a schedule: run, submit, record the rank."
    ),
    "ingest": Command(
        "comind.cli.ingest", "Import notebooks, discussions and datasets into a community store."
    ),
    "knowledge": Command(
        "comind.cli.knowledge", "Build a knowledge base from communities and papers, or list one."
    ),
    "agents": Command("comind.cli.agents", "List the installed agents with their roles and parameters."),
    "show": Command(
        "comind.cli.show", "Show what a campaign did: work, calls and cells, prompts and replies."
    ),
    "report": Command(
        "comind.cli.report", "Grade campaigns on the true answers, or write a page on one."
    ),
    "bench": Command("comind.cli.bench", "Compare agents on the same competitions, seeds and budget."),
    "mlebench": Command(
        "comind.cli.mlebench", "List MLE-bench's competitions, adapt one, or serve /validate for it."
    ),
    "lineage": Command(
        "comind.cli.lineage", "Show the lineage of a submission: community, ideas and attempts."
    ),
    "reproduce": Command(
        "comind.cli.reproduce", "Run the scripts of a submission again and compare; no model is called."
    ),
    "repair": Command(
        "comind.cli.repair", "Check logs, refs and data, and rebuild MLflow's runs from the logs."
    ),
    "push": Command(
        "comind.cli.push", "Push campaigns to the DVC remote and to the git remote `origin`."
    ),
    "gc": Command(
        "comind.cli.collect", "Delete from DVC's cache what no branch, experiment or campaign uses."
    ),
    "live": Command("comind.cli.live", "Serve past competitions with Kaggle's API, as of a time."),
    "doctor": Command(
        "comind.cli.doctor", "Check this machine: sandboxes, packages, model endpoint, Kaggle."
    ),
    "ui": Command("comind.cli.ui", "Serve live pages of campaigns, MLflow and Prefect, until Ctrl-C."),
}
