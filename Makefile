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
VENDOR := src/canonry/inspector/static/vendor
CLIENTS := tests/clients/node_modules/done $(VENV)-clients-1/done $(VENV)-clients-2/done

# Without bytecode files, every server of a test would compile Canonry again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-servers test-clients test-browser clients pictures servers scripts check coverage bench reference site lock changelog release clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

demo: $(VENV)/run.done ## Play a small world through servers on an embedded store
	@$(BIN)/canonry demo $(ARGS)

# Two workers a core share the files of tests with the same needs; MEASURE=1 records the covered
# branches.
TESTS = $(BIN)/python $(if $(MEASURE),-m slipcover --out .coverage.$@) -m pytest --numprocesses auto \
	--dist loadfile --no-loadscope-reorder $(if $(MEASURE),--durations=30) --needs
# Tests about time, or about all objects of a process, run after the others, two at a time.
ALONE = tests/toolsets/test_stalls.py tests/server/test_http_sessions.py \
	tests/adapters/test_failing_services.py

test: $(VENV)/dev.done ## Run all tests that need only Python; ARGS="-k canonize" selects from all tests
	@$(if $(ARGS),$(BIN)/python -m pytest $(ARGS),$(TESTS) nothing $(addprefix --ignore ,$(ALONE)) \
		&& $(BIN)/python -m pytest --numprocesses 2 --dist worksteal $(ALONE))

test-servers: $(VENV)/dev.done $(VENV)-servers/done ## Start database servers and run their tests
	@found=$$($(VENV)-servers/bin/python -m tests.servers up) && eval "$$found" && $(TESTS) servers

test-clients: $(VENV)/dev.done $(CLIENTS) ## Run the tests with third-party clients (needs npm)
	@$(TESTS) clients

test-browser: $(VENV)/dev.done scripts ## Run the tests of the inspector in Chromium (needs npm)
	@$(TESTS) browser

clients: $(CLIENTS) ## Install third-party clients for the tests (needs npm)

tests/clients/node_modules/done: tests/clients/package.json
	@npm install --prefix tests/clients --no-package-lock --no-audit --no-fund --silent
	@touch $@

pictures: $(VENV)/ocr.done ## Run the tests of pictures with text recognition (250 MB)
	@$(BIN)/python -m pytest tests/adapters/readers/test_images.py

servers: $(VENV)-servers/done ## Start the servers for tests and print their addresses (DO=down stops them)
	@$(VENV)-servers/bin/python -m tests.servers $(or $(DO),up)

# The lock file has the hash of each version, and npm refuses any other. The graph library is kept in
# the repository; after an update of the lock file, copy both files again.
scripts: web/node_modules/.package-lock.json ## Check the scripts of the inspector and its graph library (needs npm)
	@cmp web/node_modules/cytoscape/dist/cytoscape.min.js $(VENDOR)/cytoscape.min.js
	@cmp web/node_modules/cytoscape/LICENSE $(VENDOR)/cytoscape.LICENSE
	@web/node_modules/.bin/tsc --project web

web/node_modules/.package-lock.json: web/package-lock.json
	@npm ci --prefix web --no-audit --no-fund --silent
	@touch $@

coverage: $(VENV)/dev.done ## Report the coverage of tests with MEASURE=1; fail below the minimum
	@$(BIN)/python -m slipcover --branch --json --merge .coverage.* --out .coverage
	@$(BIN)/python -m tests.meta.coverage_figures

check: $(VENV)/dev.done ## Check style, types and imports (about a minute)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(if $(TESTED),,$(BIN)/python -m pytest -q tests/meta)

bench: $(VENV)/dev.done ## Measure the workloads, print a table and write it as JSON
	@$(BIN)/python -m bench $(ARGS)

reference: $(VENV)/dev.done ## Regenerate docs/reference
	@$(BIN)/python -m tests.docs.reference

changelog: $(VENV)/dev.done ## Move the fragments of changelog.d into CHANGELOG.md
	@$(BIN)/towncrier build --yes

release: $(VENV)/dev.done tests/clients/node_modules/done ## Build everything that a release publishes in dist/ (needs npm)
	@$(BIN)/python deploy/release.py $(ARGS)

# The tests read "run" after the language of a block; the builder of the site would show the marks.
site: $(VENV)-site/done ## Build the documentation as a site in site/, with every link checked
	@rm -rf .site && mkdir .site && cp -R docs zensical.toml .site
	@find .site/docs -name '*.md' -exec sed -i.old -E 's/^( *```[a-z]+) run$$/\1/' {} +
	@find .site/docs -name '*.old' -delete
	@cd .site && "$(CURDIR)/$(VENV)-site/bin/zensical" build --strict --clean
	@rm -rf site && mv .site/site site && rm -rf .site

# A lock names everything, so that nothing is left to resolve: asked to, an old pip takes a newer
# release than the lock's for what somebody asks for with an extra, and then misses its hash.
$(VENV)-%/done: requirements/%.lock
	@"$(PYTHON)" -m venv $(@D)
	@$(@D)/bin/python -m pip --disable-pip-version-check install --quiet --no-deps --require-hashes -r $<
	@touch $@

# The locks hold versions and hashes for every platform, and no address of an index.
COMPILE = $(VENV)-lock/bin/uv pip compile pyproject.toml --quiet --universal --generate-hashes \
	--python-version 3.11 --no-annotate --custom-compile-command 'make lock'

# What a container may keep its store in.
STORES = postgres s3 mongodb neo4j opensearch qdrant

lock: $(VENV)-lock/bin/uv ## Update the lock files to the newest allowed versions
	@$(COMPILE) --upgrade --extra meaning --group build --group dev \
		--output-file requirements/dev.lock
	@$(COMPILE) --upgrade --extra meaning --group build --constraint requirements/dev.lock \
		--output-file requirements/run.lock
	@$(COMPILE) --upgrade --group build $(addprefix --extra ,meaning $(STORES)) \
		--constraint requirements/dev.lock --output-file requirements/image.lock
	@$(COMPILE) --upgrade --extra ocr --constraint requirements/dev.lock \
		--output-file requirements/ocr.lock
	@$(subst pyproject.toml,,$(COMPILE)) --upgrade --group site --output-file requirements/site.lock
	@for line in clients-1 clients-2 servers; do $(subst pyproject.toml,,$(COMPILE)) --upgrade \
		--group $$line --output-file requirements/$$line.lock; done

clean: ## Remove the environment and all build output
	@rm -rf $(VENV) $(VENV)-* site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache \
		.hypothesis .coverage .coverage.* dist

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Canonry needs Python 3.11 or newer;" \
		"install it, or name one: make PYTHON=/path/to/python" >&2; exit 1; }
	@echo "setting up $(VENV) with $(PYTHON)"
	@"$(PYTHON)" -m venv $(VENV) || { rm -rf $(VENV); echo "This Python has no working venv module;" \
		"on Debian and Ubuntu it comes with the package python3-venv" >&2; exit 1; }

$(VENV)/run.done: requirements/run.lock pyproject.toml | $(BIN)/python
	@echo "installing Canonry (once, about a minute)"
	@$(PIP) install --quiet --no-deps --require-hashes -r requirements/run.lock
	@$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# Beside the others, once they have run: without it pictures are refused, and that is tried too.
$(VENV)/ocr.done: requirements/ocr.lock $(VENV)/dev.done
	@$(PIP) install --quiet --no-deps --require-hashes -r requirements/ocr.lock
	@touch $@

$(VENV)/dev.done: requirements/dev.lock $(VENV)/run.done
	@echo "installing what tests and checks need (once)"
	@$(PIP) install --quiet --no-deps --require-hashes -r requirements/dev.lock
	@touch $@

$(VENV)-lock/bin/uv:
	@"$(PYTHON)" -m venv $(VENV)-lock
	@$(VENV)-lock/bin/python -m pip --disable-pip-version-check install --quiet 'uv>=0.9'
