# Everything a newcomer needs is `make demo` and `make test`; both work on a machine with only python3 and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test lint format bench docs reproduce-quick pages

demo: $(VENV)/ready
	$(BIN)/signnap demo

test: lint
	$(BIN)/python -m pytest -n auto --dist loadfile

lint: $(VENV)/ready-dev
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy

format: $(VENV)/ready-dev
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format --quiet .

bench: $(VENV)/ready-pyg
	$(BIN)/signnap bench speed
	$(BIN)/signnap bench memory

# Every table and figure of the paper with next to no training: shows that all runs, into results-quick/.
reproduce-quick: $(VENV)/ready-paper
	OMP_NUM_THREADS=1 $(BIN)/signnap reproduce all --quick --jobs 1

# The pages and pictures of the committed rows, and those of them that are in the documentation; trains nothing.
pages: $(VENV)/ready-paper
	$(BIN)/signnap reproduce authors --limit 0
	$(BIN)/signnap reproduce all --limit 0
	mv results/reproduction.md docs/reproduction.md
	sed -e '/<!-- authors: begin -->/,/<!-- authors: end -->/{//!d;}' -e '/<!-- authors: begin -->/r results/authors.md' \
		docs/methods.md > docs/methods.new && mv docs/methods.new docs/methods.md

docs: $(VENV)/ready-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# One stamp per set of extras: an install happens again only when what it was made from has changed.
$(VENV)/ready: extras :=
$(VENV)/ready-dev: extras := [dev]
$(VENV)/ready-docs: extras := [docs]
$(VENV)/ready-paper: extras := [paper]
$(VENV)/ready-pyg: extras := [pyg]

$(VENV)/ready $(VENV)/ready-dev $(VENV)/ready-docs $(VENV)/ready-paper $(VENV)/ready-pyg: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and f"found Python {sys.version.split()[0]}: expected 3.10 or newer, name one with make PYTHON=...")'
	@echo "installing into $(VENV); the first time this downloads PyTorch and takes some minutes"
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.$(extras)'
	@touch $@ $(VENV)/ready
