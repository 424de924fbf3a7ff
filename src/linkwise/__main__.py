"""``python -m linkwise``."""

import sys

from .cli import main

sys.exit(main())
