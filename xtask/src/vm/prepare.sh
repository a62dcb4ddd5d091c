# Runs before the kernel's package is installed. Configures a small initramfs with the drivers of the disks.
set -e
mkdir -p "$1/etc/initramfs-tools/conf.d"
printf 'MODULES=list\nCOMPRESS=gzip\n' > "$1/etc/initramfs-tools/conf.d/kennel"
printf 'virtio_pci\nvirtio_blk\next4\n' > "$1/etc/initramfs-tools/modules"
