//! The limitations of a pen, and how to get a better one.

use super::trial::Trial;

/// Returns what the default pen can't guarantee on this machine.
pub(crate) fn cannot(pen: Option<&str>, namespaces: bool) -> Vec<String> {
    let mut list = Vec::new();
    match pen {
        None => list.push("No session can be contained reliably."),
        Some("subtree") => {
            list.push(match namespaces {
                true => "Ending a fork bomb may take a long time; with --pen pidns it does not.",
                false => "Ending a fork bomb may take a long time.",
            });
            if !rustix::process::geteuid().is_root() {
                list.push(
                    "A set-uid program that becomes another user can't be ended; Kennel reports it and keeps trying.",
                );
            }
            list.push(
                "If a keeper and the yard are killed at the same instant, the session's processes may not be found.",
            );
            list.push("An out-of-memory kill can't be distinguished from another KILL.");
        }
        Some(_) => {}
    }
    list.push(
        "Processes that another daemon (docker, cron, an existing tmux server) starts for an agent are not in its pen.",
    );
    list.push("A process in uninterruptible sleep ends only when the kernel wakes it.");
    list.into_iter().map(ToOwned::to_owned).collect()
}

pub(crate) fn advice(pens: &[Trial]) -> Vec<String> {
    let works = |kind: &str| pens.iter().any(|trial| trial.kind == kind && trial.works);
    let cgroup = match std::path::Path::new("/run/systemd/system").exists() {
        true => {
            "For a cgroup pen, run Kennel in a delegated unit: systemd-run --user --scope -p Delegate=yes kennel daemon start"
        }
        false => {
            "For a cgroup pen, root must create a cgroup v2 folder, make you the owner of it and its cgroup.procs, \
             and move your shell into it."
        }
    };
    let pidns = "For --pen pidns without privileges, enable user namespaces \
                 (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns).";
    let advice = [("cgroup", cgroup), ("pidns", pidns)].into_iter();
    advice.filter(|(kind, _)| !works(kind)).map(|(_, text)| text.to_owned()).collect()
}
