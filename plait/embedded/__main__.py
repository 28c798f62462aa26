"""Run the keeper: `python -I -S plait/embedded PLAN`, with the plan as JSON.

When Python runs a directory in isolated mode, only that directory and the standard library are on its path. Therefore the keeper's
modules are `keeper.…` here, and import each other by relative names.
"""

import json
import sys
from importlib import import_module

if __name__ == "__main__":
    process = import_module("keeper.process")
    sys.exit(process.main(process.Plan(**json.loads(sys.argv[1]))))
