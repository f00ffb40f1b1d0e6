#!/bin/sh
# Holds the cluster's own network namespace: network.sh READY_FILE BRIDGE ADDRESS/BITS…
# Everything in it goes when its last process goes.
set -eu
ready=$1
bridge=$2
shift 2
ip link set lo up
ip link add "$bridge" type bridge
for address in "$@"; do ip addr add "$address" dev "$bridge"; done
ip link set "$bridge" up
echo 1 > /proc/sys/net/ipv4/ip_forward # of this namespace only
: > "$ready"
exec sleep infinity
