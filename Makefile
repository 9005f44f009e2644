.PHONY: demo test quick oldest lint fuzz torture bench bench-samples reproduce docs dist clean
PYTHON ?= python3
BIN := .venv/bin
# Tests start hundreds of processes: without bytecode on the disk each would parse the package again.
unexport PYTHONDONTWRITEBYTECODE
# One process more than there are cores: some tests wait for others, for servers and for clocks.
SIDE_BY_SIDE := --numprocesses $(shell expr $$(nproc) + 1) --dist worksteal

# uv installs in a quarter of the time that pip takes. It does not read pip's settings, such as those of
# a mirror: where it fails, pip does it. Neither compiles here what may never be imported.
define install
{ $(1)/bin/python -m pip install --quiet --disable-pip-version-check uv \
  && $(1)/bin/uv pip install --quiet --python $(1)/bin/python $(2); } \
  || $(1)/bin/python -m pip install --quiet --no-compile $(2)
endef

# The demo needs less than the tests do.
.venv/made: pyproject.toml
	$(PYTHON) -m venv .venv
	$(call install,.venv,--editable '.[plot]')
	touch $@

# What every process of the tests imports, two fifths of all that is installed. Bytecode of the rest is
# made by the first who imports it, and of the tests, whose asserts are rewritten, by the first who
# collects them: here, or each process of the tests would begin with ten seconds of that.
IMPORTED := _pytest anyio click distributed hypothesis jinja2 jupyter_client libsbml matplotlib \
  mkdocs numpy pandas psutil pyarrow pyparsing rich scipy sqlalchemy tornado traitlets typer
UNUSED := /(tests?|cuda|distutils|orm)/

.venv/installed: .venv/made
	$(call install,.venv,--editable '.[dev]')
	-cd .venv/lib/python*/site-packages && ../../../bin/python -m compileall -q -j 0 -x '$(UNUSED)' \
	  $(IMPORTED) > /dev/null 2>&1
	-$(BIN)/python -m pytest --collect-only -q > /dev/null 2>&1
	touch $@

demo: .venv/made
	$(BIN)/python examples/demo.py

test: .venv/installed
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) $(ARGS)

# While editing: all but the tests that take long, in about two minutes.
quick: .venv/installed
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) -m 'not slow' $(ARGS)

# The oldest versions that are supported, Numba among them: the arithmetic of rounds, the solvers of
# designs, processes of comparisons, tables of features, and the commands that Typer makes.
LOWEST = $(shell $(PYTHON) -c "import tomllib; p = tomllib.load(open('pyproject.toml', 'rb'))['project']; \
  more = p['optional-dependencies']; needed = p['dependencies'] + more['fast'] + more['parquet'] + more['excel']; \
  print(*(each.replace('>=', '==') for each in needed))")

.venv-oldest/installed: pyproject.toml
	$(PYTHON) -m venv .venv-oldest
	$(call install,.venv-oldest,--editable . $(LOWEST) pytest hypothesis)
	touch $@

oldest: .venv-oldest/installed
	.venv-oldest/bin/python -m pytest -q tests/gifa tests/test_designs.py \
	  tests/simulation/test_comparison.py $(ARGS)
	.venv-oldest/bin/python -m pytest -q -W ignore::DeprecationWarning tests/test_features.py \
	  tests/cli/test_app.py -k 'features or labels or every_command' $(ARGS)

# Kills, server crashes, cut lines, wrong clocks and forks: minutes.
torture: .venv/installed
	$(BIN)/python tests/torture.py $(ARGS)

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Some minutes: 43,200 mutated files of every kind that can be opened.
fuzz: .venv/installed
	$(BIN)/python tests/fuzz.py $(ARGS)

bench: .venv/installed
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/study.py
	$(BIN)/python benchmarks/intake.py
	$(BIN)/python benchmarks/report.py
	$(BIN)/python benchmarks/theory.py
	$(BIN)/python benchmarks/samples.py
	$(BIN)/python benchmarks/budget.py
	$(BIN)/python benchmarks/noise.py
	$(BIN)/python benchmarks/storage.py
	$(BIN)/python benchmarks/serve.py
	$(BIN)/python benchmarks/networks.py
	$(BIN)/python benchmarks/screen.py
	$(BIN)/python benchmarks/inference.py

bench-samples: .venv/installed
	$(BIN)/python benchmarks/bench_samples.py $(ARGS)

# One figure or table: make reproduce ARGS="figure-1a --runs 50".
reproduce: .venv/installed
	$(BIN)/python -m reproduction $(ARGS)

docs: .venv/installed
	$(BIN)/mkdocs build --strict

# The wheel is built from the source distribution, installed where nothing else is, and used there.
dist: .venv/installed
	rm -rf dist build/empty
	$(BIN)/python -m build --outdir dist
	$(BIN)/twine check --strict dist/*
	$(PYTHON) -m venv build/empty
	build/empty/bin/python -m pip install --quiet dist/*.whl
	cd build/empty && bin/python -I $(CURDIR)/examples/ask_tell.py && bin/shortlist algorithms > /dev/null

clean:
	rm -rf .venv .venv-oldest .mypy_cache .pytest_cache .ruff_cache .hypothesis site build dist
	find . -name __pycache__ -prune -exec rm -rf {} +
