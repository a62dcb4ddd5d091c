//! What a pen can't promise, and how to get a better one.

use super::trial::Trial;

/// What the pen that a session gets can't promise here.
pub(crate) fn cannot(pen: Option<&str>, namespaces: bool) -> Vec<String> {
    let mut list = Vec::new();
    let root = rustix::process::geteuid().is_root();
    match pen {
        None => list.push("No session can be held soundly here.".into()),
        Some("subtree") => {
            list.push(format!(
                "A fork bomb may take long to end{}.",
                if namespaces { "; with --pen pidns it does not" } else { "" }
            ));
            if !root {
                list.push(
                    "A set-uid program that becomes another user can't be ended; it is named, and stays owned."
                        .into(),
                );
            }
            list.push(
                "If kennel and its holder are killed at the same instant, nobody finds the tree."
                    .into(),
            );
            list.push("An end by the OOM killer can't be told from another KILL.".into());
        }
        Some(_) => {}
    }
    list.push(
        "What an agent has another daemon start (docker, cron, an existing tmux server) is not in its pen.".into(),
    );
    list.push(
        "A process that sleeps uninterruptibly in the kernel ends only when the kernel lets it."
            .into(),
    );
    list
}

/// How to get a better pen.
pub(crate) fn advice(pens: &[Trial]) -> Vec<String> {
    let works = |kind: &str| pens.iter().any(|trial| trial.kind == kind && trial.works);
    let mut list = Vec::new();
    if !works("cgroup") {
        list.push(if std::path::Path::new("/run/systemd/system").exists() {
            "For a cgroup pen, run below a delegated unit: systemd-run --user --scope -p Delegate=yes kennel run …"
                .into()
        } else {
            "For a cgroup pen, have root make a cgroup v2 folder, give it and its cgroup.procs to you, and move \
             your shell into it."
                .into()
        });
    }
    if !works("pidns") {
        list.push(
            "For --pen pidns without privileges, user namespaces must be allowed \
             (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns)."
                .into(),
        );
    }
    list
}
