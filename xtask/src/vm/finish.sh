# Runs after all packages are installed. Creates an ordinary user with a permanent user manager, and a service that runs
# the second disk's script and then powers the machine off.
set -e
chroot "$1" useradd --create-home --uid 1000 --shell /bin/bash tester
mkdir -p "$1/var/lib/systemd/linger" "$1/kennel"
: > "$1/var/lib/systemd/linger/tester"
cat > "$1/etc/systemd/system/tests-of-kennel.service" <<'END'
[Unit]
Description=Tests of Kennel
After=basic.target systemd-logind.service systemd-user-sessions.service user@1000.service
Wants=user@1000.service
SuccessAction=poweroff-force
FailureAction=poweroff-force

[Service]
Type=oneshot
ExecStart=/bin/sh -c 'stty -F /dev/ttyS1 raw -echo && exec > /dev/ttyS1 2>&1 && echo "@@ up" && mount /dev/vdb /kennel && exec /bin/sh /kennel/run'

[Install]
WantedBy=multi-user.target
END
chroot "$1" systemctl enable tests-of-kennel.service
# Disables services that are not needed and take time.
chroot "$1" systemctl mask serial-getty@ttyS0.service getty@tty1.service apt-daily.timer apt-daily-upgrade.timer \
    dpkg-db-backup.timer e2scrub_all.timer fstrim.timer
