#!/bin/bash
# base-image.sh TAG: build a base image for build.sh from this machine's Debian packages (Python 3.11, venv,
# a shell), if no registry can be reached. Needs the package python3-venv. PACKAGES names more that are installed
# here, such as those of a node: "bubblewrap git ca-certificates util-linux".
set -euo pipefail
command -v apt-cache > /dev/null || { echo "base-image.sh: this is no Debian; give build.sh a BASE_IMAGE" >&2; exit 4; }
if ! dpkg -s python3-venv > /dev/null 2>&1; then
  [ "$(id -u)" = 0 ] || { echo "base-image.sh: the package python3-venv is missing" >&2; exit 4; }
  { apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-venv; } > /dev/null
fi
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
packages=$(apt-cache depends --recurse --installed --no-recommends --no-suggests --no-conflicts --no-breaks \
  --no-replaces --no-enhances python3-venv bash dash coreutils grep sed findutils passwd libgomp1 libstdc++6 ${PACKAGES:-} \
  | grep -E '^[a-z0-9]' | sort -u)
# shellcheck disable=SC2086 # one word a package; virtual ones have no files
{ { dpkg -L $packages 2> /dev/null || true; } | grep '^/' \
    | grep -vE '^/usr/share/(doc|man|locale|lintian|info)/|^/(dev|proc|sys|run)/' \
    | sed -E 's#^/(bin|sbin|lib|lib32|lib64|libx32)(/|$)#/usr/\1\2#' | sort -u \
    | while read -r f; do if [ -e "$f" ] || [ -L "$f" ]; then echo "${f#/}"; fi; done
  printf '%s\n' bin sbin lib lib64 etc/ld.so.cache etc/ld.so.conf usr/bin/python3 usr/bin/sh
  find /etc/alternatives /etc/ld.so.conf.d | sed 's#^/##'
} | grep -vxE 'etc/(passwd|group|shadow|gshadow|nsswitch.conf)|tmp|root|proc|sys|dev|run|home|work' \
  | sort -u > "$work/list"
root=$work/root; mkdir "$root"
tar --no-recursion -C / -cf - -T "$work/list" | tar -C "$root" -xf -
mkdir -p "$root"/{proc,sys,dev,run,home}; mkdir -m 1777 "$root/tmp"; mkdir -m 755 "$root/root"
printf 'root:x:0:0:root:/root:/bin/bash\n' > "$root/etc/passwd"; printf 'root:x:0:\n' > "$root/etc/group"
tar --numeric-owner --owner=0 --group=0 -C "$root" -c . | docker import - "$1" > /dev/null
