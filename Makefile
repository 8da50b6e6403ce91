# `make` alone lists what there is. Needs Python 3.11 or newer and nothing else.
.DEFAULT_GOAL := help
.PHONY: help setup demo test check format lint types imports docs docs-check schema traces fix bench campaigns nightly \
	conformance hosts faults browsers cluster syscalls release container sbom lock clean

python := .venv/bin/python
# One more than the cores of a small machine: each waits for its processes and databases at times.
pytest := $(python) -m pytest -n 3 --dist loadgroup
# Servers start 2.4 times slower without compiled bytecode, so nothing here runs without it.
unexport PYTHONDONTWRITEBYTECODE
unexport PYTHONPATH
unexport VIRTUAL_ENV
export UV_SYSTEM_CERTS := 1

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1	\2/p' Makefile | expand -t 20

setup: ## make .venv, with .venv/bin/rolltop, from the pinned requirements
	@sh scripts/setup.sh

demo: ## one story through a real client, on this repository's own files
	@sh scripts/setup.sh core
	@$(python) examples/demo.py

test: setup ## all tests, of large tables half of the cases, with each part's time against its budget
	@$(pytest)

check: format lint types imports docs-check test ## everything a change must pass

format: setup
	@.venv/bin/ruff format --quiet --check .

lint: setup
	@.venv/bin/ruff check --quiet .

types: setup
	@.venv/bin/pyright --warnings

imports: setup
	@.venv/bin/lint-imports --no-cache

docs-check: setup
	@$(python) scripts/reference.py --check

fix: setup ## format, and mend what the linter can
	@.venv/bin/ruff check --quiet --fix-only .
	@.venv/bin/ruff format --quiet .

docs: setup ## write docs/reference anew from the declarations
	@$(python) scripts/reference.py

schema: setup ## write anew the scripts that make a new store, from the migrations
	@$(python) -m tests.schema_scripts

traces: setup ## write anew what the recorded sessions of examples/traces cost
	@$(python) -m tests.cli.recorded_sessions

bench: setup ## compare with peers and write docs/benchmarks.md
	@$(python) -m benchmarks

campaigns: setup ## random campaigns at full size, and the cases that `make test` leaves out
	@TEST_CAMPAIGN=full $(pytest)

# Always at full size: a few faults drawn at random may all come where nothing is written any more.
faults: setup ## the store on a disk that fails; as root, with /dev/fuse and Debian's packages
	@sh scripts/libfuse.sh
	@TEST_CAMPAIGN=full $(python) -m pytest -o 'python_files=fault_*.py' tests/torture

cluster: setup ## PostgreSQL's leader is killed under load, ten times; as root, with Debian's Patroni, etcd, HAProxy
	@sh scripts/cluster.sh
	@TEST_CAMPAIGN=full $(python) -m pytest -o 'python_files=witness_*.py' tests/cluster

syscalls: setup ## by strace: nothing is written outside our directories, nobody is called
	@sh scripts/strace.sh
	@$(pytest) -o 'python_files=witness_*.py' tests/e2e

nightly: test campaigns conformance hosts browsers faults cluster syscalls container ## all tests, the full campaigns and the independent MCP programs

conformance: setup ## the MCP conformance suite, the Inspector, the TypeScript clients, and logins at an issuer
	@.venv/bin/uv pip install --quiet --python $(python) --require-hashes -r requirements/conformance.txt
	@$(python) -m tests.conformance.programs
	@$(python) -m pytest -o 'python_files=witness_*.py' tests/conformance

hosts: setup ## Claude Code, Codex and Gemini CLI connect and work a turn, on the loopback alone; 860 MB, Linux
	@.venv/bin/uv pip install --quiet --python $(python) --require-hashes -r requirements/conformance.txt
	@$(python) -m tests.conformance.programs tests/hosts
	@unshare --net --map-root-user sh -c \
		"ip link set lo up && exec $(python) -m pytest -o 'python_files=witness_*.py' tests/hosts"

browsers: setup ## pages in Chromium, processes behind nginx and PgBouncer; as root it installs them from Debian
	@sh scripts/browsers.sh
	@.venv/bin/uv pip install --quiet --python $(python) --require-hashes \
		-r requirements/browsers.txt -r requirements/conformance.txt
	@$(python) -m tests.conformance.programs tests/browsers
	@$(python) -m pytest -o 'python_files=witness_*.py' tests/browsers

release: setup ## build and try what a release consists of, in dist/: make release REPOSITORY=https://…
	@$(python) scripts/release.py $(REPOSITORY)

container: setup ## build packaging/Containerfile and try the image; as root it installs buildah from Debian
	@sh scripts/buildah.sh
	@$(python) scripts/container.py

sbom: setup ## list the packages of a base install and their licences, in dist/rolltop.cdx.json
	@sh scripts/sbom.sh

lock: setup ## compile requirements/*.txt from pyproject.toml
	@sh scripts/lock.sh

clean: ## remove what was made here, .venv included
	@rm -rf .venv .pytest_cache .ruff_cache .hypothesis .import_linter_cache build dist
	@rm -rf tests/browsers/node_modules tests/conformance/node_modules tests/hosts/node_modules
