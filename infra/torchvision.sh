#!/bin/sh
# torchvision.sh VENV: let torchvision be imported beside torch's CPU build.
# The build that a package index gives is for CUDA: its own operators (nms, roi_align) cannot be loaded then,
# and two of its declarations fail at the import. They are made to depend on the operators, like their neighbours.
set -eu
python=$1/bin/python
"$python" -c "import torchvision" 2> /dev/null && exit 0
file=$(echo "$1"/lib/python3*/site-packages/torchvision/_meta_registrations.py)
sed -i 's/^@torch\.library\.register_fake("torchvision::\(q\{0,1\}nms\)")$/@register_meta("\1")/' "$file"
"$python" -m compileall -q "$file"
"$python" -c "import torchvision" || { echo "torchvision.sh: torchvision does not fit torch in $1" >&2; exit 4; }
