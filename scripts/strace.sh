#!/bin/sh
# Installs Debian's strace where it is missing.
set -eu
command -v strace > /dev/null && exit 0
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -qq --no-install-recommends strace > /dev/null
