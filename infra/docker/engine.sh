#!/bin/bash
# A private container engine: for tests, and for machines without systemd.
#   engine.sh install            install dockerd with apt, as root
#   engine.sh start DIR [PID]    start it in DIR; it ends with process PID, if given
#   engine.sh stop DIR           stop it and all its containers
# DIR must be short: a socket's path has at most 107 bytes. No bridge, no iptables rule: the machine's network
# is unchanged, and containers have none.
set -eu

answers() { DOCKER_HOST="unix://$1/docker.sock" docker version > /dev/null 2>&1; }

install() {
  docker version > /dev/null 2>&1 && return 0  # there is one already
  command -v dockerd > /dev/null && command -v docker > /dev/null && return 0
  if ! command -v apt-get > /dev/null || [ "$(id -u)" != 0 ]; then
    echo "engine.sh: dockerd is missing, and only root can install it with apt-get (docker.io)" >&2; exit 4
  fi
  echo "installing docker.io, the container engine"
  { apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends docker.io; } > /dev/null 2>&1 \
    || { echo "engine.sh: apt-get could not install docker.io" >&2; exit 4; }
}

# The engine of a folder, as long as it runs.
engine_of() {
  pid=$(cat "$1/dockerd.pid" 2> /dev/null) || return 1
  tr '\0' ' ' 2> /dev/null < "/proc/$pid/cmdline" | grep -qF -- "--pidfile=$1/dockerd.pid" && echo "$pid"
}

# The processes of containerd that belong to a folder.
helpers_of() {
  for entry in /proc/[0-9]*; do
    if tr '\0' ' ' 2> /dev/null < "$entry/cmdline" | grep -q "^[^ ]*containerd.* $1/exec/containerd/"; then
      echo "${entry#/proc/}"
    fi
  done
}

start() {
  answers "$1" && return 0
  command -v dockerd > /dev/null || DOCKER_HOST="unix://$1/docker.sock" install
  while engine_of "$1" > /dev/null; do sleep 0.1; done  # it is ending
  mkdir -p "$1/data" "$1/exec"
  rm -f "$1/dockerd.pid"  # of one that was killed; its number may be somebody else's by now
  setsid nohup dockerd --host="unix://$1/docker.sock" --data-root="$1/data" --exec-root="$1/exec" \
    --pidfile="$1/dockerd.pid" --bridge=none --iptables=false --ip6tables=false --ip-forward=false \
    --ip-masq=false > "$1/dockerd.log" 2>&1 < /dev/null &
  for _ in $(seq 600); do
    if answers "$1"; then
      if [ -n "$2" ]; then setsid nohup "$0" watch "$1" "$2" > /dev/null 2>&1 < /dev/null & fi
      return 0
    fi
    sleep 0.1
  done
  tail -5 "$1/dockerd.log" >&2; exit 4
}

stop() {
  if pid=$(engine_of "$1"); then
    kill "$pid" 2> /dev/null || true
    while kill -0 "$pid" 2> /dev/null; do sleep 0.1; done
  fi
  # An engine that was killed leaves helpers, which name its folder, their sockets, and mounts.
  while helpers=$(helpers_of "$1") && [ -n "$helpers" ]; do
    kill -9 $helpers 2> /dev/null || true
    sleep 0.1
  done
  awk -v below="$1/" 'index($2, below) == 1 { print $2 }' /proc/mounts | sort -r | xargs -r umount
  rm -rf "$1/exec"
}

case $1 in
  install) install;;
  start) start "$2" "${3:-}";;
  stop) stop "$2";;
  watch)
    while kill -0 "$3" 2> /dev/null && [ -S "$2/docker.sock" ]; do sleep 1; done
    if ! kill -0 "$3" 2> /dev/null; then stop "$2"; rm -rf "$2"; fi;;
  *) sed -n 's/^#   //p' "$0" >&2; exit 2;;
esac
