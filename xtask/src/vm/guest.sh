# Runs in the guest, as root, from the second disk: each line of the plan in its own scope. Writes the results to standard
# output, in lines that start with @@; `report.rs` parses them.
set -u
here=/kennel
target=$(cat $here/target)
mkdir -p "$target" && mount --bind $here/files "$target" || exit 1
mkdir -m 777 /skips
skips=/skips/now
output=/run/kennel-output

# The time limit of one program is RuntimeMaxSec, in seconds.
scope="systemd-run --quiet --collect --scope -p RuntimeMaxSec=900"

in_root() {
    $scope -p Delegate=yes env -i PATH="$PATH" HOME=/root LANG=C KENNEL_TEST_SKIPS=$skips "$@"
}
as_user() {
    setpriv --reuid=1000 --regid=1000 --init-groups env -i PATH="$PATH" HOME=/home/tester LANG=C \
        XDG_RUNTIME_DIR=/run/user/1000 KENNEL_TEST_SKIPS=$skips "$@"
}
in_user() { as_user $scope --user -p Delegate=yes env KENNEL_TEST_DELEGATED=1 "$@"; }
in_user_without_cpu() { as_user $scope --user -p Delegate="memory pids" "$@"; }
in_user_undelegated() { as_user $scope --user "$@"; }

# Prints what is left of a run after ten seconds: its cgroups, and processes of a session.
left() {
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        found=$(find /sys/fs/cgroup -type d -name 'kennel-*' 2>/dev/null
            grep -lz '^KENNEL_HOME_ID=' /proc/[0-9]*/environ 2>/dev/null)
        [ -n "$found" ] || return
        sleep 1
    done
    echo "$found" | sed 's/^/@@ left /'
}

cd /tmp
tab=$(printf '\t')
while IFS="$tab" read -r who name program arguments; do
    echo "@@ run $who $name"
    : > $skips
    chmod 666 $skips
    begun=$(date +%s)
    # The arguments are split at spaces and need no quotes.
    "in_$who" "$target/$program" $arguments > $output 2>&1 < /dev/null
    code=$?
    cat $output
    sed 's/^/@@ skipped /' $skips
    left
    echo "@@ ended $code $(($(date +%s) - begun))"
done < $here/plan
echo "@@ done"
# Waits until the output is transmitted, because the machine powers off next.
stty -F /dev/ttyS1 raw -echo
