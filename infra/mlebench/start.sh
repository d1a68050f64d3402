#!/bin/bash
# Started by MLE-bench in its container. We enforce TIME_LIMIT_SECS, as the harness does not.
# Arguments are passed to `comind solve`, such as: --model gpt-5-mini --max-usd 5
set -u
cd "${AGENT_DIR:-/home/agent}" || exit 2
python="${COMIND_PYTHON:-${AGENT_DIR:-/home/agent}/venv/bin/python}"
PYTHONPATH="${COMIND_SOURCE:-${AGENT_DIR:-/home/agent}/comind}" exec \
  timeout --kill-after=30 "${TIME_LIMIT_SECS:-86400}" "$python" -P -m comind.mlebench.container "$@"
