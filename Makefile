# The only command vocabulary of this project; hooks and CI call it and nothing else.
.DEFAULT_GOAL := help
SHELL := /bin/bash

PYTHON ?= python3
# uv does not read pip's setting for local wheels; the values come from the environment alone.
export UV_FIND_LINKS ?= $(PIP_FIND_LINKS)
# Nothing leaves the machine from anything we start.
export DO_NOT_TRACK := true
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
STAMP := .venv/.up-to-date
TOOLBOX := .toolbox/lock.txt

.PHONY: help setup toolbox sandbox image host-image engine demo test check format lint types floors torture bench picture lock clean

help:  ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1	/' | expand -t 18

setup: $(STAMP)  ## build .venv; again in seconds when nothing changed

$(STAMP): requirements/base.txt requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] < (3, 11))' || { echo "make: $(PYTHON) is older than 3.11; say PYTHON=python3.11" >&2; exit 2; }
	@echo "setting up .venv (one or two minutes the first time)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "$$(grep '^uv==' requirements/dev.txt)"
	@$(BIN)/uv pip sync --quiet --python $(BIN)/python --compile-bytecode requirements/dev.txt
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

toolbox: $(TOOLBOX)  ## build .toolbox, what Kaggle's users expect, for agents' code; nothing else needs it

# The lock file goes in last: until it is there, sessions run in .venv.
$(TOOLBOX): requirements/toolbox.txt | $(STAMP)
	@echo "setting up .toolbox (a few minutes and 3 GB the first time)"
	@rm -f $@
	@test -x .toolbox/bin/python || $(PYTHON) -m venv --without-pip .toolbox
	@$(BIN)/uv pip sync --quiet --python .toolbox/bin/python --compile-bytecode requirements/toolbox.txt
	@infra/torchvision.sh .toolbox
	@cp requirements/toolbox.txt $@

sandbox: $(STAMP)  ## make sure that a sandbox works here
	@infra/install-sandbox.sh

image:  ## build the container image for agents' code (BASE_IMAGE, TORCH_BUILD, WHEELS: see the script)
	@infra/docker/build.sh

host-image:  ## the same in a second, over this machine's own programs
	@infra/docker/host-image.sh

engine:
	@infra/docker/engine.sh install

demo: $(STAMP) sandbox  ## watch a campaign on recorded replies of a strong model: offline, real code, real scores
	@$(BIN)/comind solve demo-mosaic --profile quick --iterations 2 --as-of 2024-04-01T00:00:00Z --no-prove --folds 2 --model recorded:demo-mosaic

# Three workers on two cores: end-to-end tests wait half of their time. A container engine that cannot be had fails the tests; by hand they are skipped.
test: $(STAMP) sandbox engine check  ## everything that CI runs
	@COMIND_REQUIRE_DOCKER=1 $(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder

check: format lint types floors  ## format, lint, types, floors

format: $(STAMP)
	@$(BIN)/ruff format --check --quiet . || { echo "make check: run $(BIN)/ruff format ." >&2; exit 1; }

lint: $(STAMP)
	@$(BIN)/ruff check --quiet .

types: $(STAMP)
	@$(BIN)/mypy --no-error-summary

floors: $(STAMP)
	@$(BIN)/lint-imports --no-cache > /dev/null || $(BIN)/lint-imports --no-cache

torture: $(STAMP) $(TOOLBOX) sandbox  ## random kills, bombs and fuzz, at length; every package in every sandbox
	@$(BIN)/python -m pytest -m "torture or toolbox" --timeout 3600

bench: $(STAMP) sandbox  ## measure what docs/ and README claim; a line a figure
	@for file in benchmarks/*.py; do PYTHONPATH=. $(BIN)/python -W ignore $$file || exit 1; done

picture: $(STAMP)  ## draw docs/images/campaign.svg from the last `make demo`
	@run=$$(ls -td runs/demo-mosaic-*/ 2> /dev/null | head -1); test -n "$$run" || { echo "make picture: run make demo first" >&2; exit 2; }; \
	  PYTHONPATH=. $(BIN)/python infra/picture.py "$$run" "make demo" docs/images/campaign.svg

lock: $(STAMP)  ## pin again what requirements/*.in asks for
	@for name in base dev toolbox; do \
	  sed -i 's/^\(torch==[0-9.]*\)$$/\1+cpu/' requirements/$$name.txt; \
	  $(BIN)/uv pip compile --quiet --no-header --python-version 3.11 requirements/$$name.in -o requirements/$$name.txt \
	  && sed -i 's/+cpu$$//' requirements/$$name.txt || exit 1; done

clean:  ## forget .venv, .toolbox and every cache; campaigns and data stay
	@rm -rf .venv .toolbox .mypy_cache .ruff_cache .pytest_cache .hypothesis
