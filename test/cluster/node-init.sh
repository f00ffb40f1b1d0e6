#!/bin/sh
# Process 1 of the node's own PID and mount namespaces: node-init.sh DIRECTORY
# Mounts made here, and by kubelet and containerd later, are seen and end here.
set -eu
directory=$1
# /proc is still that of the machine, in which this process has the number that others need to enter its namespaces.
read -r pid rest < /proc/self/stat
mount -t proc proc /proc
# What CNI and the kubelet keep under /var/lib goes into the cluster's directory.
mkdir -p "$directory/var-lib" "$directory/var-lib-work"
mount -t overlay overlay -o "lowerdir=/var/lib,upperdir=$directory/var-lib,workdir=$directory/var-lib-work" /var/lib
mount -t tmpfs tmpfs /var/log
mount -t tmpfs tmpfs /run
mkdir /run/netns /run/sysctl
# The kubelet sets these for the whole machine. Here it finds files that hold what it wants, and leaves them.
for setting in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 \
  kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
  file=/run/sysctl/$(echo "${setting%=*}" | tr / _)
  echo "${setting#*=}" > "$file"
  mount --bind "$file" "/proc/sys/${setting%=*}"
done
mount --make-rshared / # volumes of pods travel from the kubelet's mounts into the containers'
echo "$pid" > "$directory/init.pid.new"
mv "$directory/init.pid.new" "$directory/init.pid"
# A parent for containerd's shims, which reaps them.
while :; do
  sleep 3600 &
  wait $!
done
