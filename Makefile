# All targets work on a machine with Python >= 3.11, make and pip. Each target first creates the environment in
# .venv, with uv if it is installed, and creates it again only when its inputs change.
#
#   make test ARGS="-k lease"       pass arguments to pytest
#   make setup PYTHON=python3.12    choose the interpreter

BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest -c pyproject.toml -n 4 --dist worksteal

# Settings for other projects must not affect these tools or point tests at another database.
unexport PYTEST_ADDOPTS PYTEST_PLUGINS PYTEST_DISABLE_PLUGIN_AUTOLOAD PYTHONPATH PYTHONHOME PYTHONWARNINGS
unexport PYTHONOPTIMIZE PYTHONDONTWRITEBYTECODE PYTHONSTARTUP MYPYPATH MYPY_CACHE_DIR RUFF_CONFIG DJANGO_SETTINGS_MODULE VIRTUAL_ENV
unexport PGHOST PGHOSTADDR PGPORT PGDATABASE PGUSER PGPASSWORD PGPASSFILE PGSERVICE PGSERVICEFILE PGOPTIONS
unexport PGSSLMODE PGDATA PGTZ PGTARGETSESSIONATTRS PLAIT_DATABASE_URL PLAIT_DIRECT_URL
# In memory, if there is enough space: creating and dropping a test database takes a tenth of the time that it takes on a disk.
PLAIT_TEST_DIR ?= $(shell [ "$$(df --output=avail /dev/shm 2>/dev/null | tail -n 1)" -gt 4000000 ] 2>/dev/null && echo "/dev/shm/plait-tests-$$(id -u)")
export PLAIT_TEST_DIR
export PYTHONNOUSERSITE := 1
export PYTHONUTF8 := 1
export PYTHON

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-connections test-full alerts clients ui browser screenshots lint format types contracts bench bench-quick lock clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile

setup: ## create the environment in .venv (the other targets do this too)
	@scripts/environment

demo: setup ui ## run a small workload of two tenants on an embedded Postgres
	@$(BIN)/plait demo $(ARGS)

test: lint types contracts clients ui browser ## run all checks and the quick tests
	$(PYTEST) -m "not full" $(ARGS)

test-connections: setup ## run the worker and API tests through PgBouncer (apt install pgbouncer) and without notifications
	PLAIT_TEST_CONNECTION=pgbouncer $(BIN)/python -m pytest -c pyproject.toml -m "not full" tests/worker tests/api $(ARGS)
	PLAIT_TEST_CONNECTION=polling $(BIN)/python -m pytest -c pyproject.toml -m "not full" tests/worker tests/api $(ARGS)

test-full: setup clients ui browser alerts ## run all tests at full scale
	$(PYTEST) $(ARGS)

alerts: ## check and test the alert rules with promtool (the machine's, else Debian's package is downloaded)
	@scripts/promtool

clients: setup ## prepare the TypeScript client for its tests (Node from the machine, or as a Python package)
	@scripts/clients

ui: setup ## build the web UI into plait/api/static (Node from the machine, or as a Python package)
	@$(BIN)/python scripts/ui.py

browser: setup ## find or install the browser that the web UI's tests use
	@scripts/browser

screenshots: setup ui browser ## take the screenshots in docs/images/ui again: each page, dark and light
	$(BIN)/python -m tests.ui.screenshots $(ARGS)

lint: setup ## check style, formatting and wording
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/python -m scripts.sql_format --check
	$(BIN)/python scripts/vocabulary.py

format: setup ## format the code and fix lint errors where possible
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/python scripts/sql_callers.py
	$(BIN)/python -m scripts.sql_format

types: setup ## check types
	$(BIN)/mypy --config-file pyproject.toml

contracts: setup ## check that imports point down only
	$(BIN)/lint-imports --config pyproject.toml

bench: setup ## benchmark plait and its peers on this machine (an hour; ARGS="--systems plait,pgqueuer" for less)
	$(BIN)/python -m bench.run $(ARGS)

bench-quick: setup ## a two-minute benchmark with two peers and few measures
	$(BIN)/python -m bench.run --quick $(ARGS)

lock: ## update the dependency locks (needs uv)
	@scripts/lock

clean: ## remove the environment and caches, but keep the data in .plait
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist build
	rm -rf clients/typescript/build clients/typescript/dist clients/typescript/node_modules
	rm -rf ui/dist ui/node_modules ui/.node plait/api/static
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
