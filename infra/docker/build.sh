#!/bin/bash
# build.sh [TAG]: build the image for agents' code. Environment variables:
#   BASE_IMAGE     default: python:3.11-slim
#   TORCH_BUILD    cpu, cu128, ...; empty for the package index's build
#   WHEELS         a folder of wheels to install from; the build then has no network
#   REQUIREMENTS   instead of requirements/toolbox.txt
set -eu
here=$(cd "$(dirname "$0")" && pwd)
version=$(sed -n 's/^__version__ = "\(.*\)"/\1/p' "$here/../../comind/__init__.py")
context=$(mktemp -d); trap 'rm -rf "$context"' EXIT
cp "$here/Dockerfile" "$here/../torchvision.sh" "$context/"
cp "${REQUIREMENTS:-$here/../../requirements/toolbox.txt}" "$context/requirements.txt"
lock=$(sha256sum < "$context/requirements.txt" | cut -d' ' -f1)
mkdir "$context/wheels"
[ -z "${WHEELS:-}" ] || cp "$WHEELS"/*.whl "$context/wheels/"
# The classic builder does where there is no other.
docker buildx version > /dev/null 2>&1 || export DOCKER_BUILDKIT=0
docker build --label comind.toolbox="$lock" --tag "${1:-comind-sandbox:$version}" --build-arg TORCH_BUILD="${TORCH_BUILD:-}" \
  ${BASE_IMAGE:+--build-arg BASE_IMAGE="$BASE_IMAGE"} ${WHEELS:+--network none} "$context"
