#!/bin/sh
# Installs the library that `make faults` mounts its disk with, unless it is there.
set -eu
is_there() { .venv/bin/python -c 'import ctypes; ctypes.CDLL("libfuse3.so.3")' 2>/dev/null; }
is_there || { apt-get update -qq && apt-get install -qq -y libfuse3-3 && is_there; }
