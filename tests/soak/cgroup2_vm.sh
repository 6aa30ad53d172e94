#!/bin/bash
# Runs the suite of sandboxes on a kernel with cgroups of version 2 alone, as root and as a user with a delegated cgroup.
#
#   apt-get install qemu-system-x86 busybox-static cpio kmod bubblewrap
#   make venv && tests/soak/cgroup2_vm.sh [pytest arguments; default: tests/component/sandbox]
#
# For machines that mount version 1. A virtual machine in software (no KVM) boots a Debian kernel on this machine's own
# files, read-only below a file system in memory. Nothing here is changed. Takes about ten minutes.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
cd "$work"

# The kernel, and what it needs to mount these files.
apt-get download -qq "$(apt-cache depends linux-image-amd64 | awk '/Depends/ {print $2; exit}')"
dpkg-deb -x linux-image-*.deb kernel
version=$(ls kernel/lib/modules)
depmod -b kernel "$version"
mkdir -p initrd/bin initrd/modules
cp "$(command -v busybox)" initrd/bin/busybox
number=10
for name in virtio_pci 9pnet_virtio 9p overlay; do
  modprobe -d kernel -S "$version" --show-depends "$name"
done | awk '!seen[$2]++ {print $2}' | while read -r module; do
  cp "$module" "initrd/modules/$((number++))-$(basename "$module")"
done
cat >initrd/init <<END
#!/bin/busybox sh
busybox() { /bin/busybox "\$@"; }
busybox mkdir /proc /dev /below /above /new
busybox mount -t devtmpfs dev /dev
for module in /modules/*; do busybox insmod \$module; done
busybox mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=262144 root /below
busybox mount -t tmpfs above /above
busybox mkdir /above/upper /above/work
busybox mount -t overlay -o lowerdir=/below,upperdir=/above/upper,workdir=/above/work new /new
exec /bin/busybox switch_root /new /bin/bash $work/guest
END
chmod +x initrd/init
(cd initrd && find . | cpio -o -H newc --quiet | gzip -1) >initrd.gz

# What runs inside. `user` has the rights that systemd gives the user of a service with Delegate=yes.
printf '%q ' "${@:-tests/component/sandbox}" >arguments
cat >guest <<END
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 PYTHONDONTWRITEBYTECODE=1
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tmpfs run /run
mkdir -p /dev/pts /dev/shm; mount -t devpts pts /dev/pts; mount -t tmpfs shm /dev/shm
mount -t cgroup2 cgroup2 /sys/fs/cgroup
ip link set lo up
cd $root
suite='.venv/bin/python -c "from openclaw_workers.sandbox.cgroups import *; assert find_cgroups().version == 2" &&
  .venv/bin/pytest -q -p no:cacheprovider $(cat arguments)'
echo "as root"
bash -c "\$suite" && echo "root passed"
service=/sys/fs/cgroup/system.slice/test.service
mkdir -p \$service
echo "+memory +pids" >/sys/fs/cgroup/system.slice/cgroup.subtree_control
chown -R 1234:1234 \$service
chmod 755 /root
mkdir -m 777 /tmp/of-the-user
echo "as user 1234"
HOME=/tmp/of-the-user TMPDIR=/tmp/of-the-user bash -c '
  echo \$\$ >'\$service'/cgroup.procs && exec setpriv --reuid 1234 --regid 1234 --clear-groups bash -c "\$1"' sh "\$suite" &&
  echo "user passed"
busybox poweroff -f
END
qemu-system-x86_64 -accel tcg -cpu max -m 3072 -display none -serial stdio -monitor none -nic none -no-reboot \
  -kernel kernel/boot/vmlinuz-* -initrd initrd.gz -append "console=ttyS0 quiet panic=-1" \
  -fsdev local,id=root,path=/,security_model=none,readonly=on,multidevs=remap \
  -device virtio-9p-pci,fsdev=root,mount_tag=root </dev/null | tee output
grep -q "^root passed" output && grep -q "^user passed" output
