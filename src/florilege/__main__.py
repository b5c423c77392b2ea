"""``python -m florilege`` is the command line."""

import sys

from florilege.apps.cli import main

if __name__ == "__main__":
    sys.exit(main())
