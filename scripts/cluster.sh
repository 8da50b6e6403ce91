#!/bin/sh
# Installs Debian's Patroni, etcd and HAProxy where they are missing.
set -eu
[ -x /usr/bin/patroni ] && [ -x /usr/bin/etcd ] && [ -x /usr/sbin/haproxy ] && exit 0
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -qq --no-install-recommends patroni etcd-server haproxy > /dev/null
