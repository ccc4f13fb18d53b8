PYTHON ?= python3
BIN := .venv/bin

# Tests in so many processes, each file's in one of them: its fixtures are made once, and its tests keep their order.
WORKERS ?= 2
PYTEST := $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile --durations 10

# The browsers that the tests look for, in their order.
BROWSERS := chromium chromium-browser google-chrome

.PHONY: run test test-scaling test-sweeps test-docs test-slow test-browser coverage notebooks docs bench lint clean

# Each stamp holds one level of installed extras; it is renewed when pyproject.toml changes.
.venv/.sweeps: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, not %d.%d: make PYTHON=python3.11" % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --editable '.[sweeps]'
	touch $@

.venv/.dev: .venv/.sweeps
	$(BIN)/python -m pip install --editable '.[dev]'
	touch $@

.venv/.browser: .venv/.dev
	$(BIN)/python -m pip install --editable '.[browser]'
	touch $@

run: .venv/.sweeps
	$(BIN)/sweeps run sweeps/configs/demo.yaml --out runs/demo

test: test-scaling test-sweeps test-docs

test-scaling: .venv/.dev
	$(PYTEST) scaling tests/scaling tests/benchmarks tests/test_imports.py

test-sweeps: .venv/.dev
	$(PYTEST) sweeps tests/sweeps

# The documents' commands and code, the pages built, each notebook in a fresh kernel.
test-docs: .venv/.dev
	$(PYTEST) tests/docs tests/notebooks -m 'not slow'

# Branches of both packages, a sweep's workers counted; slow, GPU, browser and notebook tests are not in it.
coverage: .venv/.dev
	$(PYTEST) --cov --cov-report=term:skip-covered --cov-report=json:coverage.json scaling sweeps tests

test-slow: .venv/.dev
	$(BIN)/python -m pytest -m slow

test-browser: .venv/.browser
	@for name in $(BROWSERS); do command -v $$name >/dev/null && exit 0; done; \
	echo "A browser is needed: apt-get install chromium" >&2; exit 1
	$(BIN)/python -m pytest tests/scaling -m 'browser and not slow'

# Runs the notebooks and keeps what they show; those of SCALING_DATA_DIR's data need that folder. A command in them that
# fails, fails them; the sweep of the first is trained anew.
notebooks: .venv/.dev
	rm -rf notebooks/runs/first_sweep notebooks/*.yaml notebooks/*.parquet
	IPYKERNEL_CELL_NAME=cell PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/jupyter nbconvert --to notebook --execute --inplace \
	--ExecutePreprocessor.record_timing=False --ExecutePreprocessor.timeout=240 \
	--ExecutePreprocessor.extra_arguments=--InteractiveShell.system_raise_on_error=True notebooks/*.ipynb

docs: .venv/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: .venv/.dev
	$(BIN)/python -m pytest tests/benchmarks --benchmark-enable --benchmark-columns=median,iqr,rounds

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

clean:
	rm -rf .venv build site *.egg-info
