# All commands of this project; hooks and CI call nothing else.
.DEFAULT_GOAL := help
SHELL := /bin/bash

PYTHON ?= python3
# uv does not read pip's setting for local wheels; its value comes from the environment.
export UV_FIND_LINKS ?= $(PIP_FIND_LINKS)
# No telemetry from the programs we start.
export DO_NOT_TRACK := true
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
STAMP := .venv/.up-to-date
TOOLBOX := .toolbox/lock.txt

.PHONY: help setup toolbox peers sandbox image worker-image host-image engine demo test unit pytest check format lint types floors torture bench pictures wheel stack-up stack-down lock clean

help:  ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1	/' | expand -t 18

setup: $(STAMP)  ## build .venv; again in seconds when nothing changed

$(STAMP): requirements/base.txt requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] < (3, 11))' || { echo "make: $(PYTHON) is older than 3.11; use make PYTHON=python3.11" >&2; exit 2; }
	@echo "setting up .venv (one or two minutes the first time)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "$$(grep '^uv==' requirements/dev.txt)"
	@$(BIN)/uv pip sync --quiet --python $(BIN)/python --compile-bytecode requirements/dev.txt
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

toolbox: $(TOOLBOX)  ## build .toolbox, an environment for agents' code with the packages Kaggle users expect

# The lock file is copied last: until it exists, sessions run in .venv.
$(TOOLBOX): requirements/toolbox.txt | $(STAMP)
	@echo "setting up .toolbox (a few minutes and 3 GB the first time)"
	@rm -f $@
	@test -x .toolbox/bin/python || $(PYTHON) -m venv --without-pip .toolbox
	@$(BIN)/uv pip sync --quiet --python .toolbox/bin/python --compile-bytecode requirements/toolbox.txt
	@infra/torchvision.sh .toolbox
	@cp requirements/toolbox.txt $@

PEERS := $(patsubst requirements/peers/%.txt,.peers/%/.up-to-date,$(wildcard requirements/peers/*.txt))
peers: $(PEERS)  ## build .peers, an environment for each agent of others that the profiles run (docs/external.md)

.peers/%/.up-to-date: requirements/peers/%.txt | $(STAMP)
	@echo "setting up .peers/$* (a minute and up to 3 GB)"
	@test -x .peers/$*/bin/python || $(PYTHON) -m venv --without-pip .peers/$*
	@$(BIN)/uv pip install --quiet --python .peers/$*/bin/python --compile-bytecode -r $<
	@touch $@

sandbox: $(STAMP)  ## check for a working sandbox, install bubblewrap if possible
	@infra/install-sandbox.sh

image:  ## build the container image for agents' code (BASE_IMAGE, TORCH_BUILD, WHEELS: see the script)
	@infra/docker/build.sh

worker-image:  ## build the container image of a node, with CoMind (docs/nodes.md)
	@infra/docker/worker-image.sh

host-image:  ## the same in a second, with this machine's own programs
	@infra/docker/host-image.sh

engine:
	@infra/docker/engine.sh install

demo: $(STAMP) sandbox  ## run a campaign on recorded model replies: offline, real code, real scores
	@$(BIN)/comind solve demo-mosaic --profile quick --iterations 2 --as-of 2024-04-01T00:00:00Z --no-prove --folds 1 --set one_call_minutes=0 --model recorded:demo-mosaic

# mypy uses one core; beside the tests it leaves none idle.
test: $(STAMP) sandbox engine format lint  ## everything that CI runs
	@$(MAKE) --no-print-directory -j3 types floors pytest

# Three workers on two cores, as end-to-end tests wait part of their time; four take as long. Here a missing container engine fails the tests; without the variable it skips them.
pytest:
	@COMIND_REQUIRE_DOCKER=1 $(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder

unit: $(STAMP)  ## the quick tests, for the inner loop; runs in three minutes on two cores
	@$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow and not torture and not toolbox" tests/unit tests/architecture

check: format lint types floors  ## format, lint, types, import contracts

format: $(STAMP)
	@$(BIN)/ruff format --check --quiet . || { echo "make check: run $(BIN)/ruff format ." >&2; exit 1; }

lint: $(STAMP)
	@$(BIN)/ruff check --quiet .

types: $(STAMP)
	@$(BIN)/mypy --no-error-summary

floors: $(STAMP)
	@$(BIN)/lint-imports --no-cache > /dev/null || $(BIN)/lint-imports --no-cache

torture: $(STAMP) $(TOOLBOX) sandbox  ## long tests: random kills, fork bombs, fuzzing; every package in every sandbox
	@$(BIN)/python -m pytest -m "torture or toolbox" --timeout 3600
	@HYPOTHESIS_PROFILE=long $(BIN)/python -m pytest -n 2 tests/unit --timeout 3600

bench: $(STAMP) sandbox  ## measure the figures in docs/ and README
	@for file in benchmarks/*.py; do PYTHONPATH=. $(BIN)/python -W ignore $$file || exit 1; done

pictures: $(STAMP) sandbox  ## renew docs/images: the terminal, and pages in a browser (chromium); a few minutes
	@PYTHONPATH=. $(BIN)/python infra/screenshots.py

wheel: $(STAMP)  ## build the package into dist/
	@$(BIN)/hatchling build --target wheel

stack-up: $(STAMP)  ## start Prefect, MLflow, PostgreSQL and an S3 store for several machines (docs/nodes.md)
	@BIN=$(CURDIR)/$(BIN) infra/stack.sh up

stack-down:  ## stop them; data stays
	@infra/stack.sh down

lock: $(STAMP)  ## pin requirements/*.in again
	@for name in base dev toolbox; do \
	  sed -i 's/^\(torch==[0-9.]*\)$$/\1+cpu/' requirements/$$name.txt; \
	  $(BIN)/uv pip compile --quiet --no-header --python-version 3.11 requirements/$$name.in -o requirements/$$name.txt \
	  && sed -i 's/+cpu$$//' requirements/$$name.txt || exit 1; done

clean:  ## delete .venv, .toolbox, .peers and all caches; campaigns and data remain
	@rm -rf .venv .toolbox .peers .mypy_cache .ruff_cache .pytest_cache .hypothesis
