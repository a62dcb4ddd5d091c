# Before the kernel's package is installed: a small initramfs, with what the disks need.
set -e
mkdir -p "$1/etc/initramfs-tools/conf.d"
printf 'MODULES=list\nCOMPRESS=gzip\n' > "$1/etc/initramfs-tools/conf.d/kennel"
printf 'virtio_pci\nvirtio_blk\next4\n' > "$1/etc/initramfs-tools/modules"
