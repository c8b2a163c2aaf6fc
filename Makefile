# make demo       check, rehearse, run in real time and report the spring–mass–damper test
# make test       linter, types, import layers and the whole suite
# make test-fast  tests of one part each, without processes and without the gallery
# make test-live  tests of processes that talk to each other, in wall time
# make bench      speed, as ratios in one run
# make soak       a hostile network, random faults, broken promises, long runs, random loops and tests, mutated definitions, damaged files and caches: docs/reliability.md, within two hours
# make test-lowest, make test-newest     the fast tier with the oldest versions that pyproject.toml allows, and with the newest;
#                 TIER='fast or live' for others, TESTS='tests/kernels tests/records' for a part, PYTHON=python3.13 for another Python
# make lock       requirements-dev.txt anew
# make release-check     known weaknesses of the dependencies, and their list as results/sbom.json (needs a network)
# make library    all of halfreal's compiled functions, if their sources have changed (docs/decisions/0085); demo, tests, bench and wheel do this first
# make wheel      dist/*.whl, with the library
# make docs       the documentation as a site, build/docs/index.html, and an offline copy, build/halfreal-docs.zip; warnings are errors
# make docs-links external links of the documentation (needs a network)
# make gallery    every picture and number of the gallery, and examples/fidelity.md
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
.DEFAULT_GOAL := demo
.PHONY: demo library wheel docs docs-links test test-fast test-live test-lowest test-newest soak lock release-check bench gallery lint clean

$(BIN)/.halfreal: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "halfreal needs Python 3.11 or newer, this is " + sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	$(BIN)/python -m compileall -q -x /examples/ src/halfreal  # bytecode, as pip writes it for a wheel
	touch $@

# The page is tested in a browser; where there is none and none can be installed, those tests are skipped.
$(BIN)/.halfreal-test: pyproject.toml $(BIN)/.halfreal
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[test]'
	-$(BIN)/pip install --quiet --disable-pip-version-check -e '.[opensees]'  # where there is one; tests that need it are skipped elsewhere
	command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update --quiet && apt-get install --quiet --quiet --yes chromium; } >/dev/null 2>&1 || echo 'no chromium: the page is not tested in a browser'
	command -v arm-none-eabi-gcc >/dev/null && command -v qemu-system-arm >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update --quiet && apt-get install --quiet --quiet --yes --no-install-recommends gcc-arm-none-eabi qemu-system-arm; } >/dev/null 2>&1 || echo 'no gcc-arm-none-eabi or no qemu-system-arm: the rig end for microcontrollers is not tested'
	touch $@

DEMO := examples/spring_mass_damper/forward_prediction.toml

library: $(BIN)/.halfreal
	@$(BIN)/python -m halfreal.kernels.build

demo: library
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

wheel: library
	$(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

lint: $(BIN)/.halfreal-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

test: lint library
	$(BIN)/pytest

test-fast: $(BIN)/.halfreal-test library
	$(BIN)/pytest -m fast

test-live: $(BIN)/.halfreal-test library
	$(BIN)/pytest -m live -n 0

TIER ?= fast
TESTS ?=

test-lowest test-newest: test-%:
	$(PYTHON) -m venv --clear .venv-$*
	.venv-$*/bin/pip install --quiet --disable-pip-version-check uv
	.venv-$*/bin/uv pip install --quiet --python .venv-$*/bin/python --resolution $(if $(filter lowest,$*),lowest-direct,highest) -e .
	@# what the environment itself came with is no dependency, and older than the tests need
	.venv-$*/bin/uv pip freeze --quiet --exclude-editable --python .venv-$*/bin/python | grep -Ev '^(pip|setuptools|uv)==' > .venv-$*/versions.txt
	.venv-$*/bin/uv pip install --quiet --python .venv-$*/bin/python --constraints .venv-$*/versions.txt -e '.[test]'
	.venv-$*/bin/python -m halfreal.kernels.build
	.venv-$*/bin/pytest -m '$(TIER)' $(TESTS)

# a part that loses something does not keep the others from being tried; what was lost stands on the page
soak: $(BIN)/.halfreal-test library
	rm -rf results/soak
	-$(BIN)/python soak/network.py --count 1000000
	-$(BIN)/python soak/rig_in_c.py --count 500000
	-$(BIN)/python soak/random_faults.py --count 200
	-$(BIN)/python soak/random_faults.py --cells --page docs/margins.md
	-$(BIN)/python soak/broken_promises.py
	-$(BIN)/python soak/long_run.py --ticks 28800000 --minutes 5
	-$(BIN)/python soak/random_loops.py --count 200
	-$(BIN)/python soak/random_verdicts.py --count 1000 --page
	-$(BIN)/python soak/definitions.py --count 200
	-$(BIN)/python soak/run_files.py --count 200
	-$(BIN)/python soak/run_files.py --count 100 --unsealed
	-$(BIN)/python soak/compiler_cache.py --count 70
	$(BIN)/python soak/page.py

lock: $(BIN)/.halfreal-test
	$(BIN)/pip install --quiet --disable-pip-version-check uv
	echo "# Versions with which halfreal is developed and tested; made by 'make lock'." > requirements-dev.txt
	$(BIN)/uv pip compile --quiet --extra test --no-emit-index-url --no-header pyproject.toml >> requirements-dev.txt

# what users install, in an environment of its own: tools and tests are no part of the list, nor of what is shipped;
# --strict: a package that could not be looked up fails the check, which would else pass without having looked
release-check:
	$(PYTHON) -m venv --clear .venv-release
	$(PYTHON) -m venv --clear .venv-tools
	.venv-release/bin/pip install --quiet --disable-pip-version-check .
	.venv-tools/bin/pip install --quiet --disable-pip-version-check pip-audit cyclonedx-bom
	@mkdir -p results
	.venv-tools/bin/cyclonedx-py environment .venv-release/bin/python --pyproject pyproject.toml --output-format JSON --output-file results/sbom.json
	.venv-release/bin/pip freeze --exclude halfreal > results/shipped.txt
	for list in results/shipped.txt requirements-dev.txt; do \
	    .venv-tools/bin/pip-audit --strict --requirement $$list --no-deps --disable-pip \
	    || { echo "release-check has not passed: in $$list a package has a known weakness, or could not be looked up"; exit 1; }; done

bench: $(BIN)/.halfreal-test library
	$(BIN)/python benchmarks/run.py

gallery: $(BIN)/.halfreal-test library
	$(BIN)/python examples/gallery.py

docs: $(BIN)/.halfreal-test
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[docs]'
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -c docs . build/docs
	$(BIN)/python -c 'import shutil; shutil.make_archive("build/halfreal-docs", "zip", "build", "docs")'
	@echo 'documentation: build/docs/index.html; offline copy: build/halfreal-docs.zip'

docs-links: docs
	$(BIN)/python -m sphinx --quiet --builder linkcheck -c docs . build/links

clean:
	rm -rf $(VENV) .venv-lowest .venv-newest .venv-release .venv-tools build dist results
