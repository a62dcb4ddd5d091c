//! The flag that gives a session a git worktree.

use std::ffi::OsString;

use kennel_types::{SessionSpec, WorktreeSpec};

use crate::command_prelude::*;

/// The flags of `kennel run` about a worktree.
#[derive(Debug, Args)]
#[command(next_help_heading = "Worktree")]
pub(crate) struct WorktreeArgs {
    /// Run it in a new git worktree, on BRANCH or on a new branch kennel/ID.
    /// The worktree is removed after the session unless something of value is in
    /// it: see `kennel worktrees`
    #[arg(long, value_name = "BRANCH", num_args = 0..=1, require_equals = true)]
    #[expect(clippy::option_option, reason = "clap's type for a flag with an optional value")]
    pub(crate) worktree: Option<Option<String>>,
}

impl WorktreeArgs {
    /// Sets the fields of the specification.
    pub(crate) fn fill(&self, spec: &mut SessionSpec) {
        spec.worktree = self.worktree.clone().map(WorktreeSpec::asked);
    }

    /// Refuses `--worktree BRANCH -- COMMAND`, which would run BRANCH as a program.
    pub(super) fn check_words(
        &self,
        words: &[OsString],
        command: &[OsString],
    ) -> Result<(), CommandError> {
        let bare = matches!(self.worktree, Some(None));
        let before = words.iter().take_while(|word| *word != "--").collect::<Vec<_>>();
        let ended = before.len() < words.len();
        match (&before[..], command) {
            ([.., flag, branch], [program, ..])
                if bare && ended && *flag == "--worktree" && *branch == program =>
            {
                let branch = branch.to_string_lossy();
                let text = format!("{branch:?} after --worktree would be run as the program");
                Err(CommandError::because(exit_code::USAGE, text)
                    .hint(format!("to use it as the branch, write --worktree={branch}")))
            }
            _ => Ok(()),
        }
    }
}

/// Prints where the session's worktree is, and whether it lacks uncommitted changes.
pub(super) fn print_location(spec: &SessionSpec) {
    if let Some(worktree) = &spec.worktree {
        for line in lines(worktree) {
            print_message(&line);
        }
    }
}

fn lines(worktree: &WorktreeSpec) -> Vec<String> {
    let (path, branch) = (sanitize(&worktree.path), sanitize(&worktree.branch));
    let mut lines = vec![format!("running in worktree {path} on branch {branch}")];
    match worktree.uncommitted {
        Some(false) => {}
        Some(true) => {
            lines.push("the worktree does not contain the uncommitted changes of your checkout".to_owned());
        }
        None => lines.push(
            "can't determine whether your checkout has uncommitted changes; the worktree does not contain them"
                .to_owned(),
        ),
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mentions_uncommitted_changes() {
        let worktree = |uncommitted| WorktreeSpec {
            path: "/w/repo-1".into(),
            branch: "kennel/1".into(),
            uncommitted,
            ..WorktreeSpec::default()
        };
        let where_it_is = "running in worktree /w/repo-1 on branch kennel/1";
        assert_eq!(lines(&worktree(Some(false))), [where_it_is]);
        let dirty = lines(&worktree(Some(true)));
        assert_eq!(dirty[0], where_it_is);
        assert!(dirty[1].contains("uncommitted"), "{dirty:?}");
        assert!(lines(&worktree(None))[1].contains("can't determine"));
    }
}
