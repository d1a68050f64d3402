#!/bin/bash
# worker-image.sh: build comind-worker, the image of a node, from the committed files; its tags are the version
# and `latest`. Environment variables:
#   BASE_IMAGE     default: python:3.11-slim
#   TOOLBOX        empty: without .toolbox; agents' code then runs in CoMind's own environment
#   PIP_INDEX_URL  of the packages
#   NETWORK        of the build, such as host
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
version=$(sed -n 's/^__version__ = "\(.*\)"/\1/p' "$root/comind/__init__.py")
context=$(mktemp -d); trap 'rm -rf "$context"' EXIT
git -C "$root" archive HEAD | tar -x -C "$context"
cp "$root/infra/docker/worker.Dockerfile" "$context/Dockerfile"
# The classic builder does where there is no other.
docker buildx version > /dev/null 2>&1 || export DOCKER_BUILDKIT=0
docker build --tag "comind-worker:$version" --tag comind-worker ${BASE_IMAGE:+--build-arg BASE_IMAGE="$BASE_IMAGE"} \
  --build-arg TOOLBOX="${TOOLBOX-1}" --build-arg PIP_INDEX_URL \
  ${NETWORK:+--network "$NETWORK"} "$context"
