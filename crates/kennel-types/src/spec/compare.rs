//! Comparing two requests with the same idempotency key.

use super::{SessionSpec, WorktreeSpec};
use crate::agent::AgentSpec;

/// Leaves out the daemon's decisions.
fn asked(worktree: Option<&WorktreeSpec>) -> Option<WorktreeSpec> {
    worktree.map(WorktreeSpec::as_asked)
}

impl SessionSpec {
    /// Returns the names of the fields in which another request differs from this one. The caller's
    /// name and the size of its terminal do not count.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<&'static str> {
        // Destructured, so that the compiler reports a new field that is missing here.
        let Self {
            name,
            argv,
            cwd,
            terminal,
            stdin,
            pen,
            grace,
            linger,
            lease,
            tethered,
            parent,
            outlives_parent,
            output_limit,
            asked_by: _,
            key,
            ready,
            ready_timeout,
            timeout,
            idle,
            silence,
            restart,
            restart_unknown,
            memory,
            pids,
            cpu,
            best_effort,
            worktree,
            stop_signal,
            agent,
        } = self;
        let prompt = |agent: &Option<Box<AgentSpec>>| agent.as_ref().map(|it| it.as_asked());
        let same = [
            ("name", *name == other.name),
            // The daemon builds the command of an agent.
            ("argv", agent.is_some() && other.agent.is_some() || *argv == other.argv),
            ("cwd", *cwd == other.cwd),
            ("terminal", terminal.is_some() == other.terminal.is_some()),
            ("stdin", *stdin == other.stdin),
            ("pen", *pen == other.pen),
            ("grace", *grace == other.grace),
            ("linger", *linger == other.linger),
            ("lease", *lease == other.lease),
            ("tethered", *tethered == other.tethered),
            ("parent", *parent == other.parent),
            ("outlives_parent", *outlives_parent == other.outlives_parent),
            ("output_limit", *output_limit == other.output_limit),
            ("key", *key == other.key),
            ("ready", *ready == other.ready),
            ("ready_timeout", *ready_timeout == other.ready_timeout),
            ("timeout", *timeout == other.timeout),
            ("idle", *idle == other.idle),
            ("silence", *silence == other.silence),
            ("restart", *restart == other.restart),
            ("restart_unknown", *restart_unknown == other.restart_unknown),
            ("memory", *memory == other.memory),
            ("pids", *pids == other.pids),
            ("cpu", *cpu == other.cpu),
            ("best_effort", *best_effort == other.best_effort),
            ("worktree", asked(worktree.as_ref()) == asked(other.worktree.as_ref())),
            ("stop_signal", *stop_signal == other.stop_signal),
            ("agent", prompt(agent) == prompt(&other.agent)),
        ];
        same.into_iter().filter(|(_, same)| !same).map(|(field, _)| field).collect()
    }
}

#[cfg(test)]
mod tests {

    use crate::spec::{SessionSpec, TerminalSize, WorktreeSpec};

    #[test]
    fn ignores_the_caller_and_the_terminal_size() {
        let terminal = |rows| Some(TerminalSize { rows, columns: 80 });
        let one = SessionSpec { terminal: terminal(24), ..SessionSpec::default() };
        let two = SessionSpec {
            terminal: terminal(50),
            asked_by: "another".into(),
            ..SessionSpec::default()
        };
        assert_eq!(one.differences(&two), [""; 0]);
        assert_eq!(one.differences(&SessionSpec::default()), ["terminal"]);
    }

    #[test]
    fn compares_only_the_requested_branch_of_a_worktree() {
        let with = |worktree| SessionSpec { worktree: Some(worktree), ..SessionSpec::default() };
        let asked = WorktreeSpec::asked(Some("b".into()));
        let planned = WorktreeSpec {
            path: "/tree".into(),
            record: Some("{}".into()),
            uncommitted: Some(true),
            ..asked.clone()
        };
        assert_eq!(with(planned).differences(&with(asked.clone())), [""; 0]);
        let own = with(WorktreeSpec::asked(None));
        assert_eq!(own.differences(&with(asked)), ["worktree"]);
        assert_eq!(own.differences(&SessionSpec::default()), ["worktree"]);
    }

    #[test]
    fn compares_every_other_field() {
        let argv = vec!["true".to_owned()];
        let one = SessionSpec { argv, stdin: true, ..SessionSpec::default() };
        let json = serde_json::to_value(&one).unwrap();
        for field in json.as_object().unwrap().keys().filter(|field| *field != "asked_by") {
            let candidates = [
                serde_json::json!("0b6c00000000"),
                serde_json::json!("subtree"),
                serde_json::json!(["x"]),
                serde_json::json!(true),
                serde_json::json!(false),
                serde_json::json!(77),
                serde_json::json!({"rows": 1, "columns": 1}),
                serde_json::json!({"kind": "report"}),
                serde_json::json!({"policy": "on_failure", "most": 3}),
                serde_json::json!({"settings": {"agent": "claude"}}),
                serde_json::json!({"repo": "r", "path": "p", "branch": "b", "base": null}),
            ];
            let changed = candidates.into_iter().find_map(|value| {
                let mut json = json.clone();
                json[field] = value;
                serde_json::from_value::<SessionSpec>(json).ok().filter(|spec| *spec != one)
            });
            let changed = changed.unwrap_or_else(|| panic!("no other value for {field}"));
            assert_eq!(one.differences(&changed), [field.trim_end_matches("_ms")]);
        }
    }
}
