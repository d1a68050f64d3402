#!/bin/sh
# Check for a working sandbox: bubblewrap, else an existing container engine; report the consequence if none.
set -eu
command -v bwrap > /dev/null && exit 0
if command -v apt-get > /dev/null && [ "$(id -u)" = 0 ]; then
  echo "installing bubblewrap, the sandbox for agents' code"
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends bubblewrap; } > /dev/null 2>&1 && exit 0
  echo "apt-get could not install bubblewrap" >&2
fi
if docker version > /dev/null 2>&1 && "$(dirname "$0")/docker/host-image.sh"; then
  echo "bubblewrap is missing; using the container engine with this machine's programs"
  exit 0
fi
echo "no sandbox works here, so model-written code is refused (apt-get install bubblewrap);" \
  "the baseline runs, unsealed: .venv/bin/comind solve demo-tumours --profile quick --model offline" >&2
