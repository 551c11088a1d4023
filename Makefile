# Sets Canonry up in .venv and runs it; needs Python 3.11 or newer and make, nothing else.

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input
CANDIDATES := python3.11 python3.12 python3.13 python3.14 python3 python
# The first interpreter that runs and is new enough; `make PYTHON=/path/to/python` overrides.
PYTHON ?= $(shell for candidate in $(CANDIDATES); do \
	$$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 \
	&& { echo $$candidate; break; }; done)
ARGS ?=

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test check coverage bench reference lock changelog clean

help: ## Say what can be made
	@grep -hE '^[a-z]+:.*## ' Makefile | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 20

demo: $(VENV)/run.done ## Start the server on an embedded store and play a small world through it
	@$(BIN)/canonry demo $(ARGS)

test: $(VENV)/dev.done ## Run every test; ARGS="-k canonize -x" is passed on to pytest
	@$(BIN)/python $(if $(MEASURE),-m coverage run) -m pytest $(ARGS)

coverage: $(VENV)/dev.done ## Say what the last `make test MEASURE=1` reached; fail below the floor
	@$(BIN)/python -m tests.meta.coverage_figures

check: $(VENV)/dev.done ## Check style, types and rings (about a minute)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(if $(TESTED),,$(BIN)/python -m pytest -q tests/meta)

bench: $(VENV)/dev.done ## Measure the workloads, print a table and write it as JSON
	@$(BIN)/python -m bench $(ARGS)

reference: $(VENV)/dev.done ## Write the generated pages of docs/reference anew
	@$(BIN)/python -m tests.docs.reference

changelog: $(VENV)/dev.done ## Move the fragments of changelog.d into CHANGELOG.md
	@$(BIN)/towncrier build --yes

# The locks hold versions and hashes for every platform, and no address of an index.
COMPILE = $(VENV)-lock/bin/uv pip compile pyproject.toml --quiet --universal --generate-hashes \
	--python-version 3.11 --no-annotate --custom-compile-command 'make lock'

lock: $(VENV)-lock/bin/uv ## Choose the newest allowed versions of all dependencies anew
	@$(COMPILE) --upgrade --group build --group dev --output-file requirements/dev.lock
	@$(COMPILE) --upgrade --group build --constraint requirements/dev.lock \
		--output-file requirements/run.lock

clean: ## Remove the environment and everything that was made
	@rm -rf $(VENV) $(VENV)-lock .mypy_cache .ruff_cache .pytest_cache .import_linter_cache \
		.hypothesis .coverage dist

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Canonry needs Python 3.11 or newer;" \
		"install it, or name one: make PYTHON=/path/to/python" >&2; exit 1; }
	@echo "setting up $(VENV) with $(PYTHON)"
	@"$(PYTHON)" -m venv $(VENV) || { rm -rf $(VENV); echo "This Python has no working venv module;" \
		"on Debian and Ubuntu it comes with the package python3-venv" >&2; exit 1; }

$(VENV)/run.done: requirements/run.lock pyproject.toml | $(BIN)/python
	@echo "installing Canonry (once, about a minute)"
	@$(PIP) install --quiet --require-hashes -r requirements/run.lock
	@$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/dev.done: requirements/dev.lock $(VENV)/run.done
	@echo "installing what tests and checks need (once)"
	@$(PIP) install --quiet --require-hashes -r requirements/dev.lock
	@touch $@

$(VENV)-lock/bin/uv:
	@"$(PYTHON)" -m venv $(VENV)-lock
	@$(VENV)-lock/bin/python -m pip --disable-pip-version-check install --quiet 'uv>=0.9'
