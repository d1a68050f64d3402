"""`python -m comind.cli`."""

import sys

from comind.cli.main import main

sys.exit(main())
