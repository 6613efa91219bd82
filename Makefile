# Each target works alone on a fresh clone and sets up what it needs in .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check
CORE := $(VENV)/.core
TEST := $(VENV)/.test
DOCS := $(VENV)/.docs
TORCH := $(VENV)/.torch
PYTEST := $(BIN)/python -m pytest

.PHONY: report test test-all test-browser test-torch docs fuzz check wheel bench clean

# Hundreds of processes read the same modules: what they compile is kept, and only that is compiled.
unexport PYTHONDONTWRITEBYTECODE

report: $(CORE)
	$(BIN)/partwhole report --workers 2

# Test processes that each do linear algebra on every core wait for one another.
test test-all test-browser test-torch fuzz: export OMP_NUM_THREADS = 1

test: $(TEST)
	$(PYTEST)

test-all: $(TEST)
	$(PYTEST) -m "not browser and not torch"

# The page is drawn again only if something in the source is newer.
report/index.html: $(CORE) $(shell find src studies -type f -not -name '*.pyc')
	$(MAKE) report

test-browser: $(TEST) report/index.html
	$(PYTEST) -m browser tests/browser

# What takes models of torch, on torch, which nothing else needs.
test-torch: $(TORCH)
	$(PYTEST) -m torch src/partwhole/torch tests/torch tests/recordings

# The pages of docs/ and the reference as a site, onto site/index.html. Pictures that take seconds are
# drawn anew; scripts beside the pages draw the others, in minutes or in a browser.
PICTURES := first_result swing_by gated networks
docs: $(DOCS)
	rm -rf site build/pictures
	mkdir -p build/pictures
	cp $(PICTURES:%=docs/%.py) build/pictures
	set -e; for name in $(PICTURES); do $(BIN)/python build/pictures/$$name.py >/dev/null; done
	$(BIN)/python docs/site.py build/site
	cp build/pictures/*.svg build/site
	$(BIN)/python -m sphinx --fail-on-warning --fresh-env --quiet --jobs 2 --conf-dir docs build/site site
	$(BIN)/python docs/links.py site

# Awkward problems for the core beside independent oracles, for an hour; SEED names others.
SEED ?= 1
MINUTES ?= 60
fuzz: $(TEST)
	$(BIN)/python tests/fuzz/run.py --problems 1000000 --minutes $(MINUTES) --seed $(SEED)

check: $(TEST)
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/pyright

wheel: $(TEST)
	PYTHON=$(PYTHON) .ci/wheel

bench: $(TEST)
	set -e; for bench in benchmarks/bench_*.py; do echo "== $$bench"; $(BIN)/python $$bench; done

clean:
	rm -rf $(VENV) report site dist build .pytest_cache .jax_cache .ruff_cache .hypothesis
	find src studies tests -name __pycache__ -type d -exec rm -rf {} +

$(CORE): requirements/core.lock pyproject.toml studies/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "partwhole needs Python 3.11 or newer; got %s; name another with make PYTHON=python3.11" % sys.version.split()[0])'
	@echo "Setting up $(VENV) (half a minute, once)"
	$(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes -r requirements/core.lock
	$(PIP) --no-build-isolation --no-deps --editable . --editable studies
	@touch $@

$(TEST): $(CORE) requirements/test.lock
	@echo "Adding what the tests need"
	$(PIP) --require-hashes -r requirements/core.lock -r requirements/test.lock
	@touch $@

$(DOCS): $(CORE) requirements/docs.lock
	@echo "Adding what the site needs"
	$(PIP) --require-hashes -r requirements/core.lock -r requirements/docs.lock
	@touch $@

$(TORCH): $(TEST)
	@echo "Adding torch"
	$(PIP) "torch==2.13.0"
	@touch $@
