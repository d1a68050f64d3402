#!/bin/bash
# Started by MLE-bench in its container. TIME_LIMIT_SECS is ours to keep: the harness enforces nothing.
# Arguments go to `comind solve`, such as: --model gpt-5-mini --max-usd 5
set -u
cd "${AGENT_DIR:-/home/agent}" || exit 2
python="${COMIND_PYTHON:-${AGENT_DIR:-/home/agent}/venv/bin/python}"
PYTHONPATH="${COMIND_SOURCE:-${AGENT_DIR:-/home/agent}/comind}" exec \
  timeout --kill-after=30 "${TIME_LIMIT_SECS:-86400}" "$python" -m flows.container "$@"
