//! Comparing two requests with the same idempotency key.

use super::{SessionSpec, TerminalSize, WorktreeSpec};

/// Returns each field's name and whether it differs. The pattern names every field, so that the
/// compiler reports a new one that is missing here.
macro_rules! compare_fields {
    ($one:expr, $other:expr, $($field:ident)*) => {{
        let SessionSpec { $($field),* } = $one;
        [$((stringify!($field), *$field != $other.$field)),*]
    }};
}

impl SessionSpec {
    /// Returns the names of the fields in which another request differs from this one. Ignores the
    /// caller's name and the size of its terminal.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<&'static str> {
        let (mut one, mut other) = (self.as_requested(), other.as_requested());
        if one.agent.is_some() && other.agent.is_some() {
            // The daemon builds the command of an agent.
            (one.argv, other.argv) = (Vec::new(), Vec::new());
        }
        let fields = compare_fields!(&one, other,
            name argv cwd terminal stdin pen grace linger lease tethered parent outlives_parent
            output_limit asked_by key ready ready_timeout timeout idle silence restart
            restart_unknown memory pids cpu best_effort worktree stop_signal agent
        );
        fields.into_iter().filter(|(_, differs)| *differs).map(|(field, _)| field).collect()
    }

    /// Returns the request without the daemon's decisions and without the ignored fields.
    fn as_requested(&self) -> Self {
        Self {
            terminal: self.terminal.map(|_| TerminalSize { rows: 0, columns: 0 }),
            asked_by: String::new(),
            worktree: self.worktree.as_ref().map(WorktreeSpec::as_requested),
            agent: self.agent.as_ref().map(|agent| Box::new(agent.as_requested())),
            ..self.clone()
        }
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
        let asked = WorktreeSpec::requested(Some("b".into()));
        let planned = WorktreeSpec {
            path: "/tree".into(),
            record: Some("{}".into()),
            uncommitted: Some(true),
            ..asked.clone()
        };
        assert_eq!(with(planned).differences(&with(asked.clone())), [""; 0]);
        let own = with(WorktreeSpec::requested(None));
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
