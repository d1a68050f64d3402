#!/bin/bash
# host-image.sh [TAG]: build an image of mount points alone, in a second.
# /usr and our Python are read-only mounts of this machine, so that code in the container uses the packages of
# .venv. For one Linux machine; for the same image elsewhere use `make image`.
set -eu
tag=${1:-comind-sandbox-host}
for name in bin lib; do
  [ -L "/$name" ] || { echo "host-image.sh: /$name is no link to /usr/$name here; use make image" >&2; exit 4; }
done
root=$(mktemp -d); trap 'rm -rf "$root"' EXIT; chmod 755 "$root"
# /sbin has to be a real folder: the engine puts its init there.
mkdir -p "$root"/{usr,etc,proc,sys,dev,run/comind,workspace,sbin}; mkdir -m 1777 "$root/tmp"
for name in bin lib lib32 lib64 libx32; do
  [ ! -L "/$name" ] || ln -s "usr/$name" "$root/$name"
done
printf 'root:x:0:0::/:/usr/sbin/nologin\nsandbox:x:10001:10001::/tmp:/usr/sbin/nologin\n' > "$root/etc/passwd"
printf 'root:x:0:\nsandbox:x:10001:\n' > "$root/etc/group"
printf 'passwd: files\ngroup: files\nhosts: files\n' > "$root/etc/nsswitch.conf"
tar --numeric-owner --owner=0 --group=0 --sort=name --mtime=@0 -C "$root" -c . \
  | docker import --change 'LABEL comind.programs=host' - "$tag" > /dev/null
