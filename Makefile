# `make run` plays the story on the embedded default; `make test` proves it. Both set up what they need.
PYTHON ?= python3
BIN := .venv/bin
# Compiled once and not at each start: tests start many processes of the service.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup setup-dev setup-agents setup-bench run test check bench lock format clean

setup: .venv/.installed
setup-dev: .venv/.installed-dev
setup-agents: .venv/.installed-agents
setup-bench: .venv/.installed-bench

.venv/.installed: requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is %s" % sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

.venv/.installed-dev: requirements-dev.lock requirements-sdks.lock .venv/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements-sdks.lock
	touch $@

# What agents of voice platforms are built with, for the tests that start one; nothing of the service needs it.
.venv/.installed-agents: requirements-agents.lock .venv/.installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-agents.lock
	touch $@

# A generator of timelines, without the models' libraries that it names for what else it does.
.venv/.installed-bench: requirements-bench.lock .venv/.installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements-bench.lock
	touch $@

run: setup
	$(BIN)/borrower-memory demo --stay

check: setup-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n 2 --dist loadfile -rs -m "not process and not thorough and not benchmark"

test: setup-agents check
	$(BIN)/pytest -n 2 --dist loadfile -rs -m "(process or thorough) and not benchmark"

bench: setup-bench
	$(BIN)/pytest -m benchmark -s

format: setup-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/python -m service.writers

lock: setup-dev
	$(BIN)/uv pip compile pyproject.toml --universal --group build --generate-hashes --no-emit-index-url --no-annotate --no-header --python-version 3.11 --quiet -o requirements.lock
	$(BIN)/uv pip compile pyproject.toml --universal --group build --group dev -c requirements.lock --generate-hashes --no-emit-index-url --no-annotate --no-header --python-version 3.11 --quiet -o requirements-dev.lock
	$(BIN)/uv pip compile pyproject.toml --universal --group agents -c requirements.lock -c requirements-dev.lock --generate-hashes --no-emit-index-url --no-annotate --no-header --python-version 3.11 --quiet -o requirements-agents.lock
	$(BIN)/uv pip compile --no-deps --group sdks --universal --generate-hashes --no-emit-index-url --no-annotate --no-header --python-version 3.11 --quiet -o requirements-sdks.lock
	$(BIN)/uv pip compile --no-deps --group bench --universal --generate-hashes --no-emit-index-url --no-annotate --no-header --python-version 3.11 --quiet -o requirements-bench.lock

clean:
	rm -rf .venv build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
