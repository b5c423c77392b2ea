# Everything runs inside .venv, which the targets that need it make on first use.
# Another interpreter: make PYTHON=/path/to/python3.12 test

VENV      := .venv
BIN       := $(VENV)/bin
INSTALL   := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
CHECK_PY  := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))
CODE      := src tests examples benchmarks
CANDIDATES = $(PYTHON) python3 python3.11 python3.12 python3.13 python3.14 python

.PHONY: help venv demo test lint format soak bench clean

help:
	@echo "make demo    index the example handbook and ask it three questions"
	@echo "make test    formatting, lint, types, import contracts, tests"
	@echo "make lint    the same without the tests"
	@echo "make format  let ruff rewrite what it can"
	@echo "make soak    the tests at their full counts (slow)"
	@echo "make bench   the benchmark commands there are"
	@echo "make venv    only create $(VENV) with everything for development"
	@echo "make clean   remove $(VENV) and every cache"

# pip gained --group in 25.1; the one that comes with Python may be older.
$(VENV)/.pip: constraints.txt
	@found=; for candidate in $(CANDIDATES); do \
	    if "$$candidate" -c '$(CHECK_PY)' >/dev/null 2>&1; then found=$$candidate; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
	    echo "make: no Python 3.11 or newer with venv and ensurepip found (tried: $(CANDIDATES))." >&2; \
	    echo "make: install one (on Debian: python3 and python3-venv) or name it: make PYTHON=/path/to/python" >&2; \
	    exit 1; \
	fi; \
	if [ ! -x $(BIN)/python ]; then echo "creating $(VENV)" && "$$found" -m venv $(VENV); fi
	@$(INSTALL) --upgrade "pip>=25.1"
	@touch $@

$(VENV)/.package: $(VENV)/.pip pyproject.toml
	@echo "installing florilege into $(VENV)"
	@$(INSTALL) --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.package
	@echo "installing the development tools into $(VENV)"
	@$(INSTALL) --group dev
	@touch $@

venv: $(VENV)/.dev

demo: $(VENV)/.package
	@$(BIN)/python examples/demo.py

lint: $(VENV)/.dev
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/generate_aio.py --check

test: lint
	$(BIN)/python -m pytest

format: $(VENV)/.dev
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

soak: $(VENV)/.dev
	FLORILEGE_SOAK=1 $(BIN)/python -m pytest --timeout=3600

bench: $(VENV)/.package
	@echo "each prints a table; --help names its options:"
	@grep -l -r --include='*.py' __main__ benchmarks | sort | sed 's|^|  $(BIN)/python |'

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
