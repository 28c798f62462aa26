"""Run the keeper: `python -I -S plait/embedded PLAN`, with the plan as JSON.

A directory that Python runs is all that it has on its path, beside the standard library. So the keeper's modules are `keeper.…` here, and
import each other by relative names.
"""

import json
import sys
from importlib import import_module

if __name__ == "__main__":
    process = import_module("keeper.process")
    sys.exit(process.main(process.Plan(**json.loads(sys.argv[1]))))
