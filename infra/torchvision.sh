#!/bin/sh
# torchvision.sh VENV: patch torchvision to import with torch's CPU build.
# The package index's build is for CUDA: its operators (nms, roi_align) cannot be loaded with torch's CPU build,
# and two of its declarations fail at import. The patch makes them conditional on the operators, like the others.
set -eu
python=$1/bin/python
"$python" -c "import torchvision" 2> /dev/null && exit 0
file=$(echo "$1"/lib/python3*/site-packages/torchvision/_meta_registrations.py)
sed -i 's/^@torch\.library\.register_fake("torchvision::\(q\{0,1\}nms\)")$/@register_meta("\1")/' "$file"
"$python" -m compileall -q "$file"
"$python" -c "import torchvision" || { echo "torchvision.sh: torchvision does not fit torch in $1" >&2; exit 4; }
