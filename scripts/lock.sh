#!/bin/sh
# Compiles requirements/*.txt from pyproject.toml: pinned, with hashes, for every platform and Python,
# naming no registry. What is pinned already stays as it is; `sh scripts/lock.sh --upgrade` moves it.
set -eu
cd "$(dirname "$0")/.."
uv=${UV:-.venv/bin/uv}
export UV_SYSTEM_CERTS=1

compile() { # compile FILE ARGUMENTS…
    file=requirements/$1.txt
    shift
    "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
        --no-annotate --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" \
        --output-file "$file" "$@"
}

# dev holds everything, and the others may not differ from it.
compile dev pyproject.toml --all-extras --group dev "$@"
compile core pyproject.toml --group build --constraint requirements/dev.txt "$@"
compile checkers pyproject.toml --extra checkers --constraint requirements/dev.txt "$@"
compile documents pyproject.toml --extra documents --constraint requirements/dev.txt "$@"
compile keyring pyproject.toml --extra keyring --constraint requirements/dev.txt "$@"
compile postgresql pyproject.toml --extra postgresql --constraint requirements/dev.txt "$@"
compile semantic pyproject.toml --extra semantic --constraint requirements/dev.txt "$@"
compile traces pyproject.toml --extra traces --constraint requirements/dev.txt "$@"
compile sbom --group sbom --constraint requirements/dev.txt "$@"
compile conformance --group conformance --constraint requirements/dev.txt "$@"
compile browsers --group browsers --constraint requirements/dev.txt "$@"
printf 'uv\n' | compile uv - --constraint requirements/dev.txt "$@"
