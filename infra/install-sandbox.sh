#!/bin/sh
# Make sure that bubblewrap, the local sandbox, is there; where it cannot be installed, say what follows.
set -eu
command -v bwrap > /dev/null && exit 0
if command -v apt-get > /dev/null && [ "$(id -u)" = 0 ]; then
  echo "installing bubblewrap, the sandbox for agents' code"
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends bubblewrap; } > /dev/null 2>&1 && exit 0
  echo "apt-get could not install bubblewrap" >&2
fi
echo "bubblewrap is missing: only our own baseline can run, unsealed (apt-get install bubblewrap)" >&2
