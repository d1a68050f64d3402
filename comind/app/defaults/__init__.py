"""Files of a new project, which hold for a project without them as well, and the toolbox's lock.

In the repository `params.yaml`, `prefect.yaml` and `toolbox.txt` are links to the files that it uses
itself; a wheel has copies. `dvc.yaml` differs from the repository's, whose stages depend on its code.
"""

from pathlib import Path

_HERE = Path(__file__).parent

PARAMS = _HERE / "params.yaml"
DEPLOYMENTS = _HERE / "prefect.yaml"
STAGES = _HERE / "dvc.yaml"
IGNORED = _HERE / "gitignore"
TOOLBOX_LOCK = _HERE / "toolbox.txt"
