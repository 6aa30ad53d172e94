# The commands of the README. Everything runs inside .venv, which the first command creates.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PRODUCT := $(VENV)/.installed-product
TOOLS := $(VENV)/.installed-tools
INSTALL := $(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt
# Where PYTHONDONTWRITEBYTECODE is set, every command would compile the program again.
COMPILE := $(BIN)/python -m compileall -q openclaw_workers ingress
SOAK_MINUTES ?= 10
JOBS ?= 4

.PHONY: up check test lint bench bench-memory soak clean venv
.DEFAULT_GOAL := help

.PHONY: help
help:
	@echo "make up     start everything on this machine; Ctrl-C stops it"
	@echo "make check  lint, types and the unit tests: the loop while you work"
	@echo "make test   lint, types and all tests"
	@echo "make lint   lint and types alone"
	@echo "make bench  measure, and write benchmarks/results"
	@echo "make bench-memory [DATA=locomo.json]  how well memory finds what it holds; the last line is JSON"
	@echo "make soak   the long fault tests, chaos for SOAK_MINUTES (default 10)"
	@echo "make clean  remove what make created; state directories stay"

venv: $(TOOLS)

# Installed again when the dependencies change; otherwise a run finds the stamp and goes straight on.
$(PRODUCT): pyproject.toml constraints.txt | $(BIN)/python
	@$(PYTHON) -m openclaw_workers.cli.local.redis_binary
	@echo "Installing OpenClaw Workers into $(VENV); this is done once and takes a minute or two."
	$(INSTALL) --progress-bar on -e .
	@$(COMPILE)
	@touch $@

# The product with the developer tools, for everything but `make up`.
$(TOOLS): pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --quiet -e '.[dev]'
	@$(COMPILE)
	@touch $(PRODUCT) $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Python 3.11 or later is needed; '$(PYTHON)' is $$($(PYTHON) --version 2>&1)." >&2; \
	  echo "Install one, or name it: make $(or $(MAKECMDGOALS),venv) PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
	  echo "python -m venv failed; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }

up: $(PRODUCT)
	@$(BIN)/ocw up

lint: $(TOOLS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Unit tests do no I/O and keep all cores busy: one process for each core.
check: lint
	$(BIN)/pytest -q -n auto tests/unit

# Fault tests mostly wait for leases and processes, so four at a time suit two cores.
test: lint
	$(BIN)/pytest -n $(JOBS) --dist worksteal

bench: $(TOOLS)
	$(BIN)/python -m benchmarks
	@echo "with Celery's task events, which Flower needs:"
	$(BIN)/python -m benchmarks --events turn_overhead throughput

bench-memory: $(TOOLS)
	$(BIN)/python -m benchmarks.memory $(DATA)

soak: $(TOOLS)
	OCW_SOAK=1 SOAK_MINUTES=$(SOAK_MINUTES) $(BIN)/pytest tests/soak --timeout=0

clean:
	rm -rf $(VENV) build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
