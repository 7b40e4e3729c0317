# `make run` and `make test` need nothing but Python 3.11 or newer: everything else is installed into .venv,
# at the versions and hashes in the lock files.

.PHONY: help run test chromium postgres lint types unit bench chaos calibrate pages lock clean
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input -qq
VENV_READY := $(VENV)/.ready
RUN_READY := $(VENV)/.run-ready
DEV_READY := $(VENV)/.dev-ready

# A Python of your own choice: make run PYTHON=/path/to/python3
PYTHON :=
# More words for `cafi run`: make run ARGS="--agents builtin"
ARGS :=

# The extras that the lock files cover.
LOCKED := --extra openai --extra telegram --extra discord --extra web --extra postgres --extra import --extra rehearsal \
  --extra reports --extra traces --group build

# What writes them, so that they come out alike for everybody.
UV := 0.13.9

# Prints the first Python that is new enough and can make virtual environments, or says what to do.
define find_python
too_old=; no_venv=; \
for candidate in $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11; do \
  command -v "$$candidate" >/dev/null 2>&1 || continue; \
  if ! "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
    too_old="$$too_old $$candidate"; continue; \
  fi; \
  if ! "$$candidate" -c 'import ensurepip, venv' 2>/dev/null; then no_venv="$$candidate"; continue; fi; \
  python="$$candidate"; break; \
done; \
if [ -z "$$python" ]; then \
  if [ -n "$$no_venv" ]; then \
    echo "$$no_venv cannot make virtual environments yet. On Debian or Ubuntu: sudo apt install python3-venv" >&2; \
  elif [ -n "$$too_old" ]; then \
    echo "CAFI needs Python 3.11 or newer; found only:$$too_old (too old). Install a newer Python and try again." >&2; \
  else \
    echo "CAFI needs Python 3.11 or newer; none was found. On Debian or Ubuntu: sudo apt install python3 python3-venv" >&2; \
  fi; \
  exit 1; \
fi
endef

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

run: $(RUN_READY) ## set up if needed, then start CAFI
	@exec $(BIN)/cafi run $(ARGS)

# Style and types are looked at while tests wait, and what the system is asked to install while the packages are.
test: ## everything CI checks: style, types, tests
	@$(MAKE) --no-print-directory -j3 lint types unit

lint: $(DEV_READY) ## style and formatting
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(DEV_READY) ## static types
	@$(BIN)/mypy

# Root on Debian or Ubuntu, as in CI, gets it installed; everybody else is told how.
chromium:
	@command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 || { \
	  if [ "$$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then \
	    echo "Installing Chromium, in which the tests open the pages ..."; \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null; \
	  else \
	    echo "The tests open the pages in Chromium, which is not installed. On Debian or Ubuntu: sudo apt install chromium" >&2; \
	    exit 1; \
	  fi; }

# The tests start a server of their own from its programs; the one that Debian makes and starts beside them is not used.
postgres:
	@command -v initdb >/dev/null 2>&1 || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || { \
	  if [ "$$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then \
	    echo "Installing PostgreSQL, on which the tests of storage run too ..."; \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql >/dev/null; \
	  else \
	    false; \
	  fi || echo "PostgreSQL is not installed: its tests are skipped. On Debian or Ubuntu: sudo apt install postgresql" >&2; }

# Side by side, only one at a time may install.
ifneq ($(filter unit,$(MAKECMDGOALS)),)
postgres: | chromium
endif

# Of the unit tests, those of two letters go with the pages, so that all parts end at about the same time.
WITH_PAGES := unit/test_[mn]*.py
PARTS := platform/test_[a-m]*.py platform/test_[n-z]*.py acceptance browser+contract+$(WITH_PAGES)

# Five parts side by side, as most of them wait much; with ARGS, what they ask for and nothing else.
unit: chromium postgres $(DEV_READY) ## the tests
ifneq ($(ARGS),)
	@$(BIN)/pytest $(ARGS)
else
	@scratch=$$(mktemp -d); started=; ended=0; number=0; \
	  for part in $(foreach part,$(PARTS),'$(part)'); do \
	    number=$$((number + 1)); \
	    $(BIN)/pytest -p no:cacheprovider --basetemp=$$scratch/$$number $$(echo "tests/$$part" | sed 's|+| tests/|g') \
	      > $$scratch/$$number.log 2>&1 & \
	    started="$$started $$!"; \
	  done; \
	  $(BIN)/pytest -p no:cacheprovider --basetemp=$$scratch/rest \
	    --ignore-glob='tests/$(WITH_PAGES)' $(foreach folder,platform acceptance browser contract,--ignore=tests/$(folder)) || ended=$$?; \
	  for one in $$started; do wait $$one || ended=$$?; done; \
	  cat $$scratch/*.log; rm -rf $$scratch; exit $$ended
endif

bench: $(DEV_READY) ## the benchmarks
	@$(BIN)/python -m benchmarks $(ARGS)

chaos: postgres $(DEV_READY) ## what goes wrong at night, done on purpose (ARGS="--rounds 20 --fault kill-worker")
	@$(BIN)/python -m chaos $(ARGS)

calibrate: $(DEV_READY) ## the judges against their bars, from recordings
	@$(BIN)/cafi eval calibrate --replay evaluation/data/recordings --bars evaluation/data/bars.yaml $(ARGS)

pages: $(DEV_READY) ## the parts of docs that are written from settings, commands, docstrings and knowledge bases
	@$(BIN)/python -m bots.reference_pages docs/reference
	@$(BIN)/python -m bots.engine_page docs/reference/engine.md
	@$(BIN)/python -m bots.file_page docs/reference/files.md
	@$(BIN)/python -m benchmarks.path --page docs/architecture.md
	@$(BIN)/cafi kb facts --page docs/facts.md >/dev/null
	@$(BIN)/cafi kb facts --kb knowledge_base/sleep --page docs/facts.md >/dev/null
	@$(BIN)/cafi kb coverage --page docs/knowledge-base.md | tail -1
	@$(BIN)/cafi kb coverage --kb knowledge_base/sleep --page docs/knowledge-base.md | tail -1

# A .venv whose folder was moved, or whose Python is gone, no longer starts: then everything is made anew.
ifneq ($(wildcard $(VENV_READY)),)
ifneq ($(shell $(BIN)/python -c 'import sys; print(sys.prefix)' 2>/dev/null),$(shell cat $(VENV_READY)))
.PHONY: $(VENV_READY) $(RUN_READY) $(DEV_READY)
endif
endif

$(VENV_READY):
	@python=; $(find_python); "$$python" -m venv --clear $(VENV)
	@$(BIN)/python -c 'import sys; print(sys.prefix)' > $@

$(RUN_READY): requirements.lock pyproject.toml | $(VENV_READY)
	@echo "Setting up (first time takes about a minute) ..."
	@$(PIP) install --require-hashes -r requirements.lock
	@$(PIP) install --no-build-isolation --no-deps --editable .
	@touch $@

# The developer's lock holds everything that the other holds, at the same versions.
$(DEV_READY): requirements-dev.lock requirements.lock pyproject.toml | $(VENV_READY)
	@echo "Setting up for development (first time takes about a minute) ..."
	@$(PIP) install --require-hashes -r requirements-dev.lock
	@$(PIP) install --no-build-isolation --no-deps --editable .
	@touch $(RUN_READY) $@

COMPILE = build/lock/bin/uv pip compile pyproject.toml $(LOCKED) --universal --python-version 3.11 --upgrade \
  --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --no-annotate --quiet

lock: ## renew both lock files at the newest versions
	@python=; $(find_python); rm -rf build/lock && "$$python" -m venv build/lock
	@build/lock/bin/python -m pip --disable-pip-version-check --no-input -qq install uv==$(UV)
	@$(COMPILE) --group dev --output-file build/lock/dev.txt
	@$(COMPILE) --constraint build/lock/dev.txt --output-file build/lock/run.txt
	@if grep -nE '://|^-|[ @](/|\.)' build/lock/dev.txt build/lock/run.txt; then \
	  echo "A lock file would name an address or a path; nothing was changed." >&2; exit 1; fi
	@{ echo "# Everything CAFI runs with. Written by 'make lock'; do not edit."; cat build/lock/run.txt; } > requirements.lock
	@{ echo "# Everything CAFI is developed and tested with. Written by 'make lock'; do not edit."; \
	  cat build/lock/dev.txt; } > requirements-dev.lock
	@rm -rf build/lock
	@echo "Renewed requirements.lock and requirements-dev.lock."

clean: ## remove .venv, caches and builds
	@rm -rf $(VENV) build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
