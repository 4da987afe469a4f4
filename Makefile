# Two commands on a fresh machine: `make demo` and `make test`. Both need Python >= 3.11 and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEMO ?= demo-output

.PHONY: demo test test-all lint format bench-release bench-kernel bench-quality bench-report clean

demo: $(STAMP)
	$(BIN)/microtome demo -o $(DEMO) --force

test: lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

test-all: lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -m ""

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench-release: $(STAMP)
	$(BIN)/python benchmarks/release_throughput.py

bench-kernel: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/kernel_speed.py

bench-quality: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/census_quality.py
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/census_quality.py --losses --tasks PublicCoverage
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/census_quality.py --kind aggregates --epsilon 1

bench-report: $(STAMP)
	$(BIN)/python benchmarks/render.py

$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Microtome needs Python 3.11 or newer")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $(STAMP)

clean:
	rm -rf $(VENV) $(DEMO) .pytest_cache .mypy_cache .ruff_cache .hypothesis build
