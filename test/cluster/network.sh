#!/bin/sh
# Holds the cluster's own network namespace: network.sh READY_FILE BRIDGE ADDRESS/BITS
# Everything in it goes when its last process goes.
set -eu
ip link set lo up
ip link add "$2" type bridge
ip addr add "$3" dev "$2"
ip link set "$2" up
echo 1 > /proc/sys/net/ipv4/ip_forward # of this namespace only
: > "$1"
exec sleep infinity
