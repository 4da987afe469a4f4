# Two commands on a fresh machine: `make demo` and `make test`. Both need Python >= 3.11 and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEMO ?= demo-output
BASELINES ?= .venv-baselines
MIXTURES ?= .venv-mixtures
BASELINES_PYTHON ?= python3.11
SOURCE ?= states14
TASKS ?=
METHODS ?=
EPSILONS ?= 5.1 8.1
SEEDS ?= 0 1 2
TIME_LIMIT ?= 900
NEWEST ?= $(shell for minor in 19 18 17 16 15 14 13 12 11; do \
  python3.$$minor -c "" 2> /dev/null && echo python3.$$minor && break; done)
TESTS ?= tests

.PHONY: demo test test-all test-newest coverage architecture browser axe postgresql lint format docs package bench bench-env bench-release bench-large bench-engines bench-linked bench-kernel bench-forecast bench-drafted bench-speed bench-trees bench-quality bench-verdicts bench-mnist bench-clothes bench-adaptation bench-losses bench-paper bench-report audit reliability clean

demo: $(STAMP)
	$(BIN)/microtome demo -o $(DEMO) --force

test: lint browser axe postgresql
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

test-all: lint browser axe postgresql
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -m ""

# Slower than the tests alone, so no part of them. TESTS=tests/private measures a part; the pages are in htmlcov/.
coverage: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --cov=microtome --cov-branch --cov-report=html:htmlcov \
	  --cov-report=json:htmlcov/coverage.json --cov-report= $(TESTS)
	$(BIN)/python tests/coverage_table.py htmlcov/coverage.json

# The tables of docs/architecture.md, from runs of the program under a profiler.
architecture: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python tests/architecture/page.py

# The default tests on the newest Python that can be found, or on another: make test-newest NEWEST=/usr/local/bin/python3.13
test-newest:
	test -x .venv-newest/bin/python || $(NEWEST) -m venv .venv-newest
	.venv-newest/bin/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	.venv-newest/bin/python --version
	OMP_NUM_THREADS=1 .venv-newest/bin/python -m pytest -n 2 $(TESTS)

# Pages are tested in Chromium: Debian's package, where it is missing and may be installed; skipped otherwise.
browser:
	@command -v chromium > /dev/null || command -v chromium-browser > /dev/null || command -v google-chrome > /dev/null || \
	{ [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && \
	  { apt-get install -qq -y --no-install-recommends chromium || { apt-get update -qq && \
	    apt-get install -qq -y --no-install-recommends chromium; }; } > /dev/null 2>&1; } || \
	echo "No Chromium here, and it cannot be installed: tests of pages in a browser will be skipped."

# Pages of the studio are looked through by axe-core, from npm; not looked through where it cannot be had.
axe:
	@test -f .axe/node_modules/axe-core/axe.min.js || \
	npm install --silent --no-audit --no-fund --prefix .axe axe-core@4 > /dev/null 2>&1 || \
	echo "No axe-core here, and npm does not get it: pages of the studio will not be looked through for accessibility."

# Queries are tested on a PostgreSQL server: Debian's package, where it is missing and may be installed; skipped otherwise.
postgresql:
	@ls /usr/lib/postgresql/*/bin/initdb > /dev/null 2>&1 || command -v initdb > /dev/null || \
	{ [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && \
	  { apt-get install -qq -y --no-install-recommends postgresql || { apt-get update -qq && \
	    apt-get install -qq -y --no-install-recommends postgresql; }; } > /dev/null 2>&1; } || \
	echo "No PostgreSQL here, and it cannot be installed: tests of queries on a server will be skipped."

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The documentation site, in build/site: every page, the interface, and the gallery's reports. Warnings are errors.
docs: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python docs/site/gallery.py build/gallery
	$(BIN)/python -m sphinx -W --keep-going -q -c docs/site -b html . build/site
	cp docs/site/start.html build/site/index.html
	@echo "build/site/index.html"

# Both distributions, as wheel and as source archive, in dist/. microtome-core is the code; microtome adds PyTorch.
package: $(STAMP)
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m build --outdir dist distributions/microtome

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# One process a run; runs that are in benchmarks/results/comparison are not repeated. make bench TASKS=… EPSILONS=…
bench: $(STAMP) bench-env
	$(BIN)/python benchmarks/compare.py --source $(SOURCE) $(if $(TASKS),--tasks $(TASKS)) \
	  $(if $(METHODS),--methods $(METHODS)) --epsilons $(EPSILONS) --seeds $(SEEDS) --time-limit $(TIME_LIMIT)

# Packages that pin old versions of ours, dpmm with Python 3.10 or 3.11 only; and mbi with jax, beside our own code.
bench-env: $(BASELINES)/.installed $(MIXTURES)/.installed

$(MIXTURES)/.installed: benchmarks/requirements-mixtures.txt
	test -x $(MIXTURES)/bin/python || $(PYTHON) -m venv $(MIXTURES)
	$(MIXTURES)/bin/python -m pip install --quiet --disable-pip-version-check -r $< -e .
	touch $@

$(BASELINES)/.installed: benchmarks/requirements-baselines.txt
	test -x $(BASELINES)/bin/python || $(BASELINES_PYTHON) -m venv $(BASELINES)
	$(BASELINES)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	touch $@

bench-release: $(STAMP)
	$(BIN)/python benchmarks/release_throughput.py

# Tables larger than memory; python benchmarks/large_tables.py --rows 100000000 takes ten times as long.
bench-large: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/large_tables.py

# Linked tables: the Czech bank. HMA runs in the environment of rival methods.
bench-linked: $(STAMP) bench-env
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/linked.py

# Counting by this process, on Spark and on a cluster of two workers, against a job of Spark's that only reads.
bench-engines: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/engines.py --rows 1000000 10000000

bench-kernel: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/kernel_speed.py
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/kernel_speed.py --slices 20 --slice-dim 5 \
	  -o benchmarks/results/kernel_speed_paper.json

# Drawing against Arrow's writing, counting against DuckDB, and tables of 400 columns.
bench-speed: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/sample_speed.py
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/count_speed.py
	$(BIN)/python benchmarks/wide_tables.py

# Trees on synthetic rows, and the ceiling at a large epsilon.
bench-trees: $(STAMP)
	for source in adult california-40pct housing; do \
	  $(BIN)/python benchmarks/compare.py --source $$source --methods real aggregates --epsilons 1 5.1 100 || exit 1; done

bench-quality: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/census_quality.py
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/census_quality.py --losses --tasks PublicCoverage
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/aggregate_choices.py

bench-forecast: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/forecast.py
	$(BIN)/python benchmarks/choosing_epsilon.py

# Drafted schemas beside declared ones, and bounds of many profiles.
bench-drafted: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/drafted.py
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/domains.py

bench-speed-report: $(STAMP)
	$(BIN)/python benchmarks/report_speed.py

# Does a report from a release alone rank synthetic tables as one on the real rows does? The table of docs/report.md.
bench-verdicts: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/verdicts.py

bench-mnist: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/mnist.py

# The same for Fashion-MNIST, once benchmarks/clothes.py has unpacked it.
bench-clothes: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/mnist.py --images clothes --epsilons 0.2 1 \
	  --methods "60,000 images" "60,000 images, with grain" "moved, with grain" aggregates "real images"

bench-adaptation: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/adaptation.py

# Every loss on one release of records against ε: the last table and the plot of docs/paper.md.
bench-losses: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/sliced_losses.py

# Tables 1 and 3 of the paper with all of its epochs, under its own noise and under ours; a day of processor time.
bench-paper: $(STAMP)
	$(BIN)/python benchmarks/compare.py --methods algorithm1_outside slicewass_outside algorithm1_faster algorithm1 \
	  slicewass --epsilons 5.1 8.1 --seeds 0 1 --time-limit 9000

bench-report: $(STAMP)
	$(BIN)/python benchmarks/render.py
	$(BIN)/python benchmarks/paper_page.py

# Half an hour of attacks on every mechanism setting; the privacy statement is made of what they find.
audit: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/audit.py
	$(BIN)/python benchmarks/statement.py

# Thousands of faults, for half an hour and more; docs/reliability.md is made of what they find.
reliability: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -m "" tests/faults tests/test_damaged_files.py \
	  --faults-to benchmarks/results/reliability.json
	$(BIN)/python benchmarks/reliability.py

$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Microtome needs Python 3.11 or newer")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $(STAMP)

clean:
	rm -rf $(VENV) .venv-newest .axe $(DEMO) htmlcov .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
