#!/bin/sh
# Installs Debian's Chromium, nginx and PgBouncer where they are missing.
set -eu
[ -x /usr/bin/chromium ] && [ -x /usr/sbin/nginx ] && [ -x /usr/sbin/pgbouncer ] && exit 0
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -qq --no-install-recommends chromium nginx-light pgbouncer > /dev/null
