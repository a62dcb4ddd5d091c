//! The fault points of the daemon, at which tests stop or kill it.

/// All fault points, in the order of a session's life where there is one.
pub const POINTS: &[&str] = &[
    "daemon.start.locked",
    "daemon.start.opened",
    "daemon.adopt.begun",
    "daemon.adopt.probe",
    "daemon.adopt.probed",
    "daemon.adopt.adopted",
    "daemon.adopt.done",
    "daemon.start.listening",
    "daemon.adopt.sweep",
    "daemon.adopt.swept",
    "daemon.worktree.planned",
    "daemon.launch.admitted",
    "daemon.again.kept",
    "daemon.again.pending",
    "daemon.again.restarted",
    "daemon.again.resumed",
    "daemon.line.turn_came",
    "daemon.record.intent",
    "daemon.record.intent_saved",
    "daemon.worktree.make",
    "daemon.worktree.made",
    "daemon.launch.begun",
    "daemon.launch.folder_made",
    "daemon.launch.token_written",
    "daemon.launch.locked",
    "daemon.launch.fork_sent",
    "daemon.launch.forked",
    "daemon.launch.keeper_ready",
    "daemon.launch.go",
    "daemon.launch.going",
    "daemon.launch.born",
    "daemon.launch.grant",
    "daemon.launch.granted",
    "daemon.launch.running",
    "daemon.ready.begun",
    "daemon.ready.seen",
    "daemon.ready.overdue",
    "daemon.terminal.admitted",
    "daemon.terminal.look",
    "daemon.terminal.files_made",
    "daemon.terminal.followed",
    "daemon.terminal.end",
    "daemon.terminal.ended",
    "daemon.report.heard",
    "daemon.report.judged",
    "daemon.report.written",
    "daemon.stop.asked",
    "daemon.stop.dismiss",
    "daemon.stop.dismissed",
    "daemon.stop.tell",
    "daemon.stop.told",
    "daemon.stop.ending",
    "daemon.exit.told",
    "daemon.exit.gone",
    "daemon.end_pen.begun",
    "daemon.end_pen.keeper_ended",
    "daemon.end_pen.cgroup_ended",
    "daemon.end_pen.done",
    "daemon.clean_up.begun",
    "daemon.clean_up.file_removed",
    "daemon.clean_up.done",
    "daemon.worktree.remove",
    "daemon.worktree.removed",
    "daemon.record.outcome",
    "daemon.record.outcome_saved",
    "daemon.judge.begun",
    "daemon.judge.learnt",
    "daemon.judge.judged",
    "daemon.release.due",
    "daemon.release.sent",
    "daemon.member.added",
    "daemon.member.removed",
    "daemon.plan.kept",
    "daemon.plan.resumed",
    "daemon.plan.asking",
    "daemon.plan.asked",
    "daemon.plan.cancelled",
    "daemon.plan.finished",
    "daemon.remove.folders_removed",
    "daemon.remove.rows_removed",
    "daemon.leave.stop",
    "daemon.leave.drain",
    "daemon.leave.now",
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Every `point("…")` in the sources is listed, and every listed one exists.
    #[test]
    fn the_list_is_complete() {
        let mut found = std::collections::BTreeSet::new();
        let mut pending =
            vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))];
        while let Some(folder) = pending.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    pending.push(path);
                } else if !path.ends_with("fault_points.rs") && !path.ends_with("run/log.rs") {
                    let text = std::fs::read_to_string(path).unwrap();
                    let names = text.split('"').filter(|part| part.starts_with("daemon."));
                    let names = names.filter(|name| !name.contains(char::is_whitespace));
                    found.extend(names.filter(|n| n.split('.').count() == 3).map(String::from));
                }
            }
        }
        let listed: std::collections::BTreeSet<_> =
            POINTS.iter().map(ToString::to_string).collect();
        assert_eq!(found, listed);
        assert_eq!(listed.len(), POINTS.len(), "each once");
    }
}
