#!/bin/sh
# Makes .venv from requirements/dev.txt, every file checked against its hash and compiled to bytecode,
# with this source tree installed in it; `sh scripts/setup.sh core` makes it from requirements/core.txt,
# which is enough to run. Needs Python 3.11 or newer. Does nothing while nothing changed.
set -eu
wanted=${1:-dev}
cd "$(dirname "$0")/.."
unset VIRTUAL_ENV PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE
export UV_SYSTEM_CERTS=1 UV_NO_PROGRESS=1 PIP_DISABLE_PIP_VERSION_CHECK=1

stamp=.venv/rolltop-setup
# The folder is part of it: a moved environment no longer starts.
state() {
    echo "$1"
    pwd
    cat "requirements/$1.txt" requirements/uv.txt pyproject.toml scripts/setup.sh src/rolltop/__init__.py | cksum
}
is_made() { [ "$(cat "$stamp" 2>/dev/null)" = "$(state "$1")" ]; }

compile_sources() {
    .venv/bin/python -m compileall -q src
}

if [ -x .venv/bin/rolltop ] && { is_made "$wanted" || is_made dev; } &&
    .venv/bin/python -c '' 2>/dev/null; then
    compile_sources
    exit 0
fi

new_enough='import sys; sys.exit(sys.version_info < (3, 11))'
for python in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python}; do
    if "$python" -c "$new_enough" 2>/dev/null; then break; fi
    python=
done
if [ -z "$python" ]; then
    echo "Rolltop needs Python 3.11 or newer; name one with: make setup PYTHON=/path/to/python3" >&2
    exit 1
fi

pinned=$(sed -n 's/^uv==\([^ ]*\).*/\1/p' requirements/uv.txt)
uv=
for candidate in .venv/bin/uv uv; do
    if [ "$("$candidate" --version 2>/dev/null | cut -d ' ' -f 2)" = "$pinned" ]; then
        uv=$candidate
        break
    fi
done

echo "Setting up .venv with $("$python" --version) (once; a minute or so)"
rm -f "$stamp"
if ! .venv/bin/python -c "$new_enough" 2>/dev/null; then
    if [ -n "$uv" ] && [ "$uv" != .venv/bin/uv ]; then
        "$uv" venv --quiet --clear --no-python-downloads --python "$(command -v "$python")" .venv
    else
        "$python" -m venv --clear .venv
        uv=
    fi
fi
if [ -z "$uv" ]; then
    .venv/bin/python -m ensurepip --upgrade >/dev/null
    .venv/bin/python -m pip install --quiet --require-hashes -r requirements/uv.txt
    uv=.venv/bin/uv
fi
"$uv" pip sync --quiet --python .venv/bin/python --require-hashes --compile-bytecode \
    "requirements/$wanted.txt"
# The build backend is among them, so nothing more is fetched.
"$uv" pip install --quiet --python .venv/bin/python --offline --no-deps --no-build-isolation \
    --editable .
compile_sources
state "$wanted" >"$stamp"
