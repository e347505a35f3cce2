PYTHON ?= python3
WORKERS ?= 2
TORCH ?= torch
BIN := .venv/bin
STAMP := .venv/.installed
DOCS_STAMP := .venv/.installed-docs
PYTEST := $(BIN)/python -m pytest -n $(WORKERS)

# Small matrices: threads inside BLAS only get in each other's way.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-deep integrations attack lint format docs dist bench bench-engine clean

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

setup: $(STAMP) ## create .venv with all that demo and tests need

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0] + "; try: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv .venv
	@echo "installing into .venv (a minute or two the first time)"
	@$(BIN)/python -m pip install -qq -c constraints.txt -e '.[dev,plots,baselines]'
	@touch $@

demo: setup ## find a good graph and draw it (under a minute)
	$(BIN)/bogrape demo

test: setup ## tests, doctests and the code in the documents
	$(PYTEST)

test-deep: setup ## the tests that take minutes, with coverage of the package by them
	$(PYTEST) -m deep --timeout 3600 --cov --cov-report=term --cov-report=html

integrations: setup ## the libraries on PyTorch, for the deep tests (TORCH="torch --index-url ..." for its CPU build)
	$(BIN)/python -m pip install -q $(TORCH)
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[gpytorch,botorch,pyg,ax]' optuna-dashboard

attack: setup ## random instances against brute force (resumes; ARGS="--instances 2000 --seed 0")
	$(BIN)/python tests/attack/run.py $(ARGS)

lint: setup ## ruff, mypy, import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup ## let ruff rewrite what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(DOCS_STAMP) ## the documentation site, in build/site (runs the tutorials; no network)
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/site
	@echo "open build/site/index.html, or serve it: $(BIN)/python -m http.server --directory build/site"

$(DOCS_STAMP): $(STAMP)
	@echo "installing what the site needs"
	@$(BIN)/python -m pip install -qq -c constraints.txt -e '.[docs]'
	@touch $@

dist: setup ## wheel and sdist in dist, the wheel tried in an environment of its own
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist
	$(BIN)/python tests/try_wheel.py dist

bench: setup ## speed against GraKel, of search, studies and sampling; time and memory in large spaces
	$(BIN)/python -m benchmarks.speed
	$(BIN)/python -m benchmarks.study_overhead
	$(BIN)/python -m benchmarks.many_observations
	$(BIN)/python -m benchmarks.molecule_sampling
	$(BIN)/python -m benchmarks.large_spaces

bench-engine: setup ## how long a proof takes, by kernel and size (hours; resumes; ARGS=--quick)
	$(BIN)/python -m benchmarks.engine $(ARGS)

clean: ## remove .venv, caches and builds
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .grimp_cache .hypothesis
	find src benchmarks tests -name __pycache__ -type d -prune -exec rm -rf {} +
