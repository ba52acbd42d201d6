# One target for each thing people do. Python 3.11 or newer and make are enough
# for `make run`; `make test` also wants Go (or KUBEBUILDER_ASSETS).

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NODE := $(VENV)/node
PIP := $(BIN)/pip --disable-pip-version-check install --quiet
NODE_FILE ?= build/node.yaml
UNIT := not cluster

.DEFAULT_GOAL := help
.PHONY: help run setup test test-unit bench lint format lock clean

help: ## Say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(VENV)/.base ## Keep this machine's Node true, in $(NODE_FILE); ONCE=1 ends after one round
	@mkdir -p $(dir $(NODE_FILE))
	@$(BIN)/nodetruth agent --node-file $(NODE_FILE) -o table $(if $(ONCE),--once)

setup: $(VENV)/.base ## Make .venv with the command in it

test: $(VENV)/.test ## Run every test, on a real control plane
	$(BIN)/python -m tests.cluster.build
	$(BIN)/python -m pytest

test-unit: $(VENV)/.test ## Run the tests that need no control plane; a C compiler, no Go
	$(BIN)/python -m pytest -m "$(UNIT)"

bench: $(VENV)/.test $(NODE)/.base ## Measure every figure, a quarter of an hour, into bench/RESULTS.md; ARGS=--help tells more
	$(BIN)/python -m tests.cluster.build
	@rm -rf build/wheel && $(BIN)/pip --disable-pip-version-check wheel --quiet --no-deps \
	  --no-build-isolation --wheel-dir build/wheel .
	@$(NODE)/bin/pip --disable-pip-version-check install --quiet --no-deps --force-reinstall \
	  build/wheel/*.whl
	$(BIN)/python -m bench $(ARGS)

lint: $(VENV)/.test ## Check style, types and who imports whom
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.test ## Format the code
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

lock: $(VENV)/.base ## Write the locks anew, with the newest versions that pyproject.toml takes
	$(PIP) uv
	for lock in "base" "build --group build" "cluster --extra cluster" \
	            "test --extra cluster --group test"; do set -- $$lock; out=$$1; shift; \
	  $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	    --no-emit-index-url --no-emit-find-links --no-header --upgrade \
	    $$(test $$out = build || echo pyproject.toml) \
	    $$(test $$out = base || echo --constraint requirements/base.txt) \
	    "$$@" --output-file requirements/$$out.txt; \
	done

clean: ## Remove what was made here; the control plane in the user's cache stays
	rm -rf $(VENV) build dist

$(VENV)/.base: requirements/base.txt requirements/build.txt pyproject.toml
	@echo "setting up $(VENV); it takes about half a minute, once"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) --require-hashes -r requirements/base.txt -r requirements/build.txt
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.test: requirements/test.txt $(VENV)/.base
	@echo "setting up the tests in $(VENV); it takes about a minute, once"
	@$(PIP) --require-hashes -r requirements/test.txt
	@touch $@

$(NODE)/.base: requirements/base.txt
	@$(PYTHON) -m venv $(NODE)
	@$(NODE)/bin/pip --disable-pip-version-check install --quiet --require-hashes \
	  -r requirements/base.txt
	@touch $@
