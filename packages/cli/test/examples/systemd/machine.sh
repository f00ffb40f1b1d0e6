#!/bin/sh
# machine.sh ROOT MARKER: becomes systemd, process 1 of a machine with a root of its own. For new mount, PID, cgroup, network, IPC and UTS
# namespaces. What the machine writes is in memory and ends with it: of this system it sees /usr, below an overlay.
set -eu
root=$1
marker=$2
[ $$ = 1 ] # in a PID namespace of its own, or nothing below is safe
mount --make-rprivate /
mount -t tmpfs -o mode=0755 machine "$root"
cd "$root"
mkdir -p etc/systemd/system etc/sysusers.d etc/bash_completion.d usr dev proc sys run tmp var/tmp var/lib root old .usr/upper .usr/work
chmod 1777 tmp var/tmp
mount -t overlay usr -o "lowerdir=/usr,upperdir=$root/.usr/upper,workdir=$root/.usr/work" usr
for name in bin lib lib64 sbin; do [ ! -e "/usr/$name" ] || ln -s "usr/$name" "$name"; done
for name in null zero full random urandom tty; do
  : > "dev/$name"
  mount --bind "/dev/$name" "dev/$name"
done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
mount -t tmpfs shm dev/shm
# The kernel's settings belong to this system.
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,ro,bind proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=0755 run run
# Of everything that a start of this system would do, only what logs and makes users.
units=usr/lib/systemd/system
rm -r "$units"/*.target.wants
mkdir "$units/sysinit.target.wants" "$units/sockets.target.wants"
ln -s ../systemd-journald.service ../systemd-sysusers.service "$units/sysinit.target.wants/"
ln -s ../systemd-journald.socket ../systemd-journald-dev-log.socket "$units/sockets.target.wants/"
ln -sf /usr/lib/systemd/system/multi-user.target etc/systemd/system/default.target
# Without it systemd takes this for a first start, and enables every unit of /usr.
tr -d - < /proc/sys/kernel/random/uuid > etc/machine-id
echo 'root:x:0:0:root:/root:/bin/sh' > etc/passwd
echo 'root:x:0:' > etc/group
for name in ld.so.cache nsswitch.conf alternatives pam.d security; do [ ! -e "/etc/$name" ] || cp -a "/etc/$name" etc/; done
pivot_root . old
cd /
umount -l /old
rmdir /old
# The way back is closed, or systemd does not start: it would clear the /tmp of this system.
if [ -e "$marker" ] || [ -e /old ] || [ "$(stat -f -c %T /)" != tmpfs ]; then
  echo 'machine.sh: the root is not its own' >&2
  exit 1
fi
keep=+chown,+dac_override,+dac_read_search,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+setfcap,+net_bind_service,+net_admin
keep=$keep,+sys_admin,+sys_chroot,+sys_ptrace,+sys_resource,+sys_nice
exec env -i container=handover PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin HOME=/root \
  setpriv --bounding-set="-all,$keep" /usr/lib/systemd/systemd --system --show-status=no --log-target=journal
