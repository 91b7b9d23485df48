# Targets of chronozarr-dask. `make` alone prints them.
# Every path is relative and every tool is run from its environment, so nothing needs to be activated
# and a checkout may lie in a folder whose name has a space.

PYTHON ?= $(shell ./scripts/find_python.sh 3.11)
VENV := .venv
PY := $(VENV)/bin/python
LOCKS := requirements/uv.txt requirements/dev-3.11.txt requirements/dev-3.12.txt requirements/dev-3.13.txt

# Arguments: make test PYTEST_ARGS='-k residual -x'; make bench BENCH_ARGS=--quick; make fuzz MINUTES=30;
# make chaos SEEDS=200; make lock LOCK_ARGS=--upgrade
PYTEST_ARGS ?=
BENCH_ARGS ?=
DEMO_ARGS ?=
MINUTES ?= 5
SEEDS ?= 25
SCALE_ARGS ?=
ATHERIS := atheris==3.0.0
LOCK_ARGS ?=

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help env test lint format demo bench scale chaos fuzz py312 py313 lock schema dist clean

help:  ## print these lines
	@sed -n 's/^\([a-z0-9]*\):.*## \(.*\)/make \1|\2/p' Makefile | while IFS='|' read -r name text; do printf '%-13s %s\n' "$$name" "$$text"; done

env: $(VENV)/.stamp  ## make .venv with the locked dependencies and this project (PYTHON=...)

$(VENV)/.stamp: $(LOCKS) scripts/make_env.sh
	./scripts/make_env.sh $(VENV) "$(PYTHON)"
	touch $@

test: env  ## run the tests; what needs a service that is not there is skipped by name (PYTEST_ARGS=...)
	mkdir -p build
	$(PY) -m pytest --junitxml=build/junit.xml $(PYTEST_ARGS)
	$(if $(PYTEST_ARGS),,$(PY) scripts/check_spec_table.py build/junit.xml)

lint: env  ## check format, lint, types, layers, spelling and words
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	PYTHONPATH=scripts $(VENV)/bin/lint-imports --no-logo
	$(PY) -m codespell_lib
	$(PY) scripts/check_words.py

format: env  ## format the code and mend what ruff can mend
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

demo: env  ## see the whole job on a small world whose truth is known; what it makes lies in build/demo (DEMO_ARGS=--small)
	$(PY) -m scripts.demo $(DEMO_ARGS)

bench: env  ## run the benchmarks (half an hour) and write tests/benchmarks/RESULTS.md; fails where a claim does (BENCH_ARGS=...)
	$(PY) -m tests.benchmarks $(BENCH_ARGS)

scale: env  ## drive 100,000 empty regions through submit, receipt and commit; plots memory of client and scheduler (SCALE_ARGS=...)
	$(PY) -m tests.scale $(SCALE_ARGS)

chaos: env  ## kill workers and clients at seeded moments, resume, compare hashes (SEEDS=200)
	$(PY) -m tests.chaos --seeds $(SEEDS)

# atheris installs on few machines and is no dependency: it goes to build/, and without it inputs are mutated blindly.
fuzz: env  ## fuzz the reader and the validation with malformed stores; findings go to build/fuzz/findings (MINUTES=5)
	mkdir -p build
	test -d build/atheris || $(PY) -m uv pip install --quiet --python $(PY) --target build/atheris "$(ATHERIS)" \
		|| echo "fuzz: atheris does not install here"
	PYTHONPATH=build/atheris $(PY) scripts/fuzz.py run $(MINUTES)

py312: env  ## run the format, store and encode tests on Python 3.12, where it is installed
	./scripts/test_on.sh 3.12 $(PYTEST_ARGS)

py313: env  ## run the format, store and encode tests on Python 3.13, where it is installed
	./scripts/test_on.sh 3.13 $(PYTEST_ARGS)

lock: env  ## resolve pyproject.toml anew and write requirements/ (LOCK_ARGS=--upgrade)
	./scripts/lock.sh $(PY) $(LOCK_ARGS)

schema: env  ## write pipelines/recipe.schema.json, the JSON Schema of recipes
	mkdir -p build
	$(PY) -m chronozarr_dask.options.schema > build/recipe.schema.json
	mv build/recipe.schema.json pipelines/recipe.schema.json

dist: env  ## build wheel and sdist, and install both with all extras in an empty environment
	./scripts/check_dist.sh "$(PYTHON)" $(PY)

clean:  ## remove environments, builds and caches
	rm -rf .venv .venv-3.12 .venv-3.13 build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
