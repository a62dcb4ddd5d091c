//! A worktree for the session.

use std::ffi::OsString;

use clap::Args;
use kennel_types::{SessionSpec, WorktreeSpec};

use crate::command_error::{CommandError, say};
use crate::exit_code;
use crate::print::sanitize;

/// The flags of `kennel run` about a worktree.
#[derive(Debug, Args)]
#[command(next_help_heading = "Worktree")]
pub(crate) struct WorktreeArgs {
    /// Run it in a git worktree of its own, on this branch, or on a new one
    /// named kennel/ID. When all has ended, the worktree is removed; but if
    /// something of value is in it, it is kept: see `kennel worktrees`
    #[arg(long, value_name = "BRANCH", num_args = 0..=1, require_equals = true)]
    #[expect(clippy::option_option, reason = "that is how clap tells a flag without a value")]
    pub(crate) worktree: Option<Option<String>>,
}

impl WorktreeArgs {
    /// Puts them into what is asked for.
    pub(crate) fn fill(&self, spec: &mut SessionSpec) {
        spec.worktree = self.worktree.clone().map(WorktreeSpec::asked);
    }

    /// `--worktree BRANCH -- COMMAND` would run BRANCH as a program.
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
                let text = format!("{branch:?} after --worktree would be the program to run");
                Err(CommandError::because(exit_code::USAGE, text)
                    .hint(format!("for a branch write --worktree={branch}")))
            }
            _ => Ok(()),
        }
    }
}

/// Tells where the session's worktree is, and what is not in it.
pub(super) fn tell(spec: &SessionSpec) {
    if let Some(worktree) = &spec.worktree {
        for line in lines(worktree) {
            say(&line);
        }
    }
}

fn lines(worktree: &WorktreeSpec) -> Vec<String> {
    let (path, branch) = (sanitize(&worktree.path), sanitize(&worktree.branch));
    let mut lines = vec![format!("in the worktree {path}, on branch {branch}")];
    match worktree.uncommitted {
        Some(false) => {}
        Some(true) => {
            lines.push("changes of your checkout that are not committed are not in it".to_owned());
        }
        None => lines.push(
            "it could not be told whether your checkout has changes that are not committed; they are not in it"
                .to_owned(),
        ),
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_in_it_is_said() {
        let worktree = |uncommitted| WorktreeSpec {
            path: "/w/repo-1".into(),
            branch: "kennel/1".into(),
            uncommitted,
            ..WorktreeSpec::default()
        };
        let where_it_is = "in the worktree /w/repo-1, on branch kennel/1";
        assert_eq!(lines(&worktree(Some(false))), [where_it_is]);
        let dirty = lines(&worktree(Some(true)));
        assert_eq!(dirty[0], where_it_is);
        assert!(dirty[1].contains("not committed"), "{dirty:?}");
        assert!(lines(&worktree(None))[1].contains("could not be told"));
    }
}
