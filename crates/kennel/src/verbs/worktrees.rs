//! `kennel worktrees`: lists worktrees of sessions, and removes kept ones.

use std::io::{self, BufRead};

use kennel_types::api::{LossesView, WorktreeLosses, WorktreesView};
use kennel_types::{WorktreeState, WorktreeView};

use super::{asked_by, for_each};
use crate::command_prelude::*;

#[derive(Debug, Args)]
#[command(after_help = exit_code::PLAIN_HELP)]
pub(crate) struct WorktreesArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    verb: Option<WorktreesVerb>,
}

#[derive(Debug, Subcommand)]
enum WorktreesVerb {
    /// Remove kept worktrees
    ///
    /// Without --force, removes only worktrees that hold nothing of value. Prints what is lost.
    Rm(WorktreesRmArgs),
}

#[derive(Debug, Args)]
#[command(after_help = exit_code::SHORT_HELP)]
struct WorktreesRmArgs {
    /// Remove everything in them, and their branches if Kennel created them
    #[arg(short, long)]
    force: bool,
    /// Don't ask for confirmation
    #[arg(short, long)]
    yes: bool,
    /// Path or branch of a worktree, or name or id of its session
    #[arg(required = true, value_name = "WORKTREE")]
    worktrees: Vec<String>,
}

pub(crate) fn worktrees(daemon: &DaemonClient, args: &WorktreesArgs) -> Result<u8, CommandError> {
    if let Some(WorktreesVerb::Rm(args)) = &args.verb {
        return for_each(&args.worktrees, |reference| remove(daemon, args, reference));
    }
    let found: WorktreesView = daemon.get("/v1/worktrees")?;
    let text = || text(&found, print::width(), ColorMode::of_stdout());
    print::json_or_text(args.json, &found, text)
}

fn remove(
    daemon: &DaemonClient,
    args: &WorktreesRmArgs,
    reference: &str,
) -> Result<(), CommandError> {
    let path = format!("/v1/worktrees/{}", escape(reference));
    // git may take a while to examine the worktree.
    let ask = |method, target: &str| {
        daemon.send(method, target, None::<&()>, Timeout::None).and_then(Sent::receive)
    };
    if args.force && !args.yes && isatty(rustix::stdio::stdin()) {
        let found: WorktreeLosses = ask("GET", &format!("{path}/losses"))?;
        print(&with_losses(&found, false))?;
        if !confirmed()? {
            return Err(CommandError::refused("not removed"));
        }
    }
    let by = escape(&asked_by("worktrees rm"));
    let target = format!("{path}?force={}&by={by}", args.force);
    let removed: WorktreeLosses = ask("DELETE", &target)?;
    print(&with_losses(&removed, true))
}

fn confirmed() -> Result<bool, CommandError> {
    print("Remove it? [y/N] ")?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn with_losses(found: &WorktreeLosses, removed: bool) -> String {
    let path = sanitize(&found.worktree.path);
    let (removed, verb) = if removed { ("removed; ", "was") } else { ("", "would be") };
    match losses(&found.losses) {
        lost if lost.is_empty() => format!("{path}: {removed}nothing {verb} lost\n"),
        lost => format!("{path}: {removed}this {verb} lost:\n{lost}"),
    }
}

fn losses(losses: &LossesView) -> String {
    let mut out = String::new();
    let mut line = |text: &str| out += &format!("  {}\n", sanitize(text));
    if let Some(why) = &losses.unknown {
        line(&format!("unknown (possibly everything): {why}"));
    }
    for why in &losses.why {
        line(why);
    }
    let more = |out: &mut dyn FnMut(&str), shown: usize, all: u64| {
        let rest = all.saturating_sub(shown as u64);
        if rest > 0 {
            out(&format!("    and {rest} more"));
        }
    };
    for commit in &losses.newest {
        let id = commit.id.get(..10).unwrap_or(&commit.id);
        line(&format!("    commit {id} {}", commit.subject));
    }
    more(&mut line, losses.newest.len(), losses.commits);
    for path in &losses.changed {
        line(&format!("    file {path}"));
    }
    more(&mut line, losses.changed.len(), losses.changes);
    out
}

fn text(found: &WorktreesView, width: Option<usize>, color: ColorMode) -> String {
    if found.worktrees.is_empty() {
        return "no worktrees\n".to_owned();
    }
    let columns = [
        Column::whole("SESSION"),
        Column::whole("STATE"),
        Column::cut("BRANCH", 12),
        Column::cut("WORKTREE", 20),
        Column::cut("REPOSITORY", 12).spare(),
    ];
    let mut table = TextTable::new(&columns);
    for worktree in &found.worktrees {
        let (state, style) = state(worktree);
        table.row(vec![
            Cell::new(worktree.name.as_deref().unwrap_or(&worktree.session)),
            Cell::styled(state, style),
            Cell::new(sanitize(&worktree.branch)),
            Cell::new(sanitize(&worktree.path)),
            Cell::new(sanitize(&worktree.repo)),
        ]);
    }
    let mut out = table.text(width, color);
    let reasons: Vec<String> = found.worktrees.iter().filter_map(why).collect();
    if !reasons.is_empty() {
        out += "\n";
        out += &reasons.concat();
    }
    out
}

fn state(worktree: &WorktreeView) -> (&'static str, TextStyle) {
    match worktree.state {
        WorktreeState::InUse => ("in use", TextStyle::Good),
        WorktreeState::Owed if worktree.failures > 0 => ("removal failed", TextStyle::Bad),
        WorktreeState::Owed => ("to be removed", TextStyle::Busy),
        WorktreeState::Kept => ("kept", TextStyle::Plain),
    }
}

pub(crate) fn why(worktree: &WorktreeView) -> Option<String> {
    let name = worktree.name.as_deref().unwrap_or(&worktree.session);
    if let Some(why) = &worktree.kept_because {
        return Some(format!("{name} is kept: {}\n", sanitize(why)));
    }
    let why = worktree.failed_because.as_ref()?;
    let (failures, why) = (worktree.failures, sanitize(why));
    Some(format!("{name} could not be removed (failed attempts: {failures}): {why}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kennel_types::api::CommitView;

    fn worktree(state: WorktreeState) -> WorktreeView {
        WorktreeView {
            session: "0c3k5d9wq2fa".into(),
            name: None,
            state,
            repo: "/src/repo/.git".into(),
            path: "/w/repo-0c3k5d9wq2fa".into(),
            branch: "kennel/0c3k5d9wq2fa".into(),
            kept_because: (state == WorktreeState::Kept).then(|| "1 commit".into()),
            failures: u32::from(state == WorktreeState::Owed) * 2,
            failed_because: (state == WorktreeState::Owed).then(|| "busy".into()),
        }
    }

    #[test]
    fn lists_worktrees_with_the_reason_why_they_exist() {
        assert_eq!(text(&WorktreesView::default(), Some(80), ColorMode::Plain), "no worktrees\n");
        let states = [WorktreeState::InUse, WorktreeState::Owed, WorktreeState::Kept];
        let found = WorktreesView { worktrees: states.map(worktree).to_vec() };
        insta::assert_snapshot!(text(&found, None, ColorMode::Plain));
    }

    #[test]
    fn prints_the_exact_losses() {
        let lost = LossesView {
            why: vec!["3 commits are on no other branch".into()],
            commits: 3,
            newest: vec![CommitView { id: "0123456789abcdef".into(), subject: "a \x1b[2J".into() }],
            changes: 1,
            changed: vec!["new.rs".into()],
            unknown: None,
        };
        let worktree = worktree(WorktreeState::Kept);
        assert_eq!(
            with_losses(&WorktreeLosses { worktree: worktree.clone(), losses: lost }, true),
            "/w/repo-0c3k5d9wq2fa: removed; this was lost:\n  3 commits are on no other branch\n      \
             commit 0123456789 a \\u{1b}[2J\n      and 2 more\n      file new.rs\n"
        );
        let nothing = WorktreeLosses { worktree, losses: LossesView::default() };
        assert_eq!(
            with_losses(&nothing, true),
            "/w/repo-0c3k5d9wq2fa: removed; nothing was lost\n"
        );
        assert!(with_losses(&nothing, false).contains("nothing would be lost"));
    }
}
