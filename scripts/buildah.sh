#!/bin/sh
# Installs Debian's buildah and debootstrap where they are missing.
set -eu
command -v buildah > /dev/null && command -v debootstrap > /dev/null && exit 0
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -qq --no-install-recommends buildah debootstrap > /dev/null
