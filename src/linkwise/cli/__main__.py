"""``python -m linkwise.cli``."""

import sys

from .main import main

sys.exit(main())
