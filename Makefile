# make demo       check, rehearse, run in real time and report the spring–mass–damper test
# make test       linter, types, import layers and the whole suite
# make test-fast  tests of one part each, without processes and without the gallery
# make test-live  tests of processes that talk to each other, in wall time
# make bench      speed, as ratios in one run
# make gallery    every picture and number of the gallery, and examples/fidelity.md
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
.DEFAULT_GOAL := demo
.PHONY: demo test test-fast test-live bench gallery lint clean

$(BIN)/.halfreal: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "halfreal needs Python 3.11 or newer, this is " + sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	touch $@

$(BIN)/.halfreal-test: pyproject.toml $(BIN)/.halfreal
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[test]'
	touch $@

DEMO := examples/spring_mass_damper/forward_prediction.toml

demo: $(BIN)/.halfreal
	@mkdir -p results
	@echo 'halfreal check $(DEMO)'
	@$(BIN)/halfreal check $(DEMO)
	@echo 'halfreal rehearse $(DEMO)'
	@$(BIN)/halfreal rehearse $(DEMO) --force --output results/demo.h5
	@echo 'halfreal run $(DEMO) --with-rig --start'
	@# 1: not accepted, as on a busy machine without a real-time kernel; the page tells why
	@$(BIN)/halfreal run $(DEMO) --with-rig --start --force --output results/demo.run.h5 || [ $$? -eq 1 ]
	@echo 'halfreal report results/demo.run.h5 --compare results/demo.h5'
	@$(BIN)/halfreal report results/demo.run.h5 --compare results/demo.h5 --force --output results/demo.html

lint: $(BIN)/.halfreal-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

test: lint
	$(BIN)/pytest

test-fast test-live: test-%: $(BIN)/.halfreal-test
	$(BIN)/pytest -m $*

bench: $(BIN)/.halfreal-test
	$(BIN)/python benchmarks/run.py

gallery: $(BIN)/.halfreal-test
	$(BIN)/python examples/gallery.py

clean:
	rm -rf $(VENV) build dist results
