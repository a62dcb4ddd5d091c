//! `kennel inspect`: shows details of a session.

use std::collections::BTreeMap;

use kennel_types::api::{InspectView, ProcessView};
use kennel_types::{
    KeptItem, Owed, OwedKind, Phase, Readiness, ReadyState, RelaunchState, Restart, SessionSpec,
    StartedBy,
};

use super::{ended_text, events, exit_text};
use crate::command_prelude::*;
use crate::print::shell_words;
use crate::quantity::{size, span};
use crate::session_outcome::reported;

#[derive(Debug, Args)]
#[command(after_help = exit_code::SHORT_HELP)]
pub(crate) struct InspectArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Name, id, or unique prefix of an id
    #[arg(value_name = "SESSION", value_parser = parse_session)]
    session: String,
}

pub(crate) fn inspect(daemon: &DaemonClient, args: &InspectArgs) -> Result<u8, CommandError> {
    let view: InspectView = daemon.get(&session_path(&args.session, "/inspect"))?;
    print::json_or_text(args.json, &view, || text(&view, ColorMode::of_stdout()))
}

struct Page {
    text: String,
    color: ColorMode,
}

impl Page {
    fn section(&mut self, name: &str) {
        let gap = if self.text.is_empty() { "" } else { "\n" };
        let name = self.color.paint(TextStyle::Heading, name);
        self.text += &format!("{gap}{name}\n");
    }

    fn entry(&mut self, name: &str, value: impl AsRef<str>) {
        self.text += &format!("  {name:12}{}\n", value.as_ref());
    }

    fn entry_if<T: AsRef<str>>(&mut self, name: &str, value: Option<T>) {
        if let Some(value) = value {
            self.entry(name, value);
        }
    }

    fn line(&mut self, text: impl AsRef<str>) {
        self.text += &format!("  {}\n", text.as_ref());
    }

    /// Adds a section with these lines, if there are any.
    fn list(&mut self, name: &str, lines: impl Iterator<Item = String>) {
        let mut lines = lines.peekable();
        if lines.peek().is_some() {
            self.section(name);
        }
        lines.for_each(|line| self.line(line));
    }
}

fn text(view: &InspectView, color: ColorMode) -> String {
    let mut page = Page { text: String::new(), color };
    session(&mut page, &view.session);
    asked(&mut page, &view.session);
    launches(&mut page, view);
    processes(&mut page, view);
    // Every live session has files that are removed at its end; only failures are shown.
    let ended = view.session.phase >= Phase::Reaped;
    let due = view.session.owed.iter().filter(|owed| ended || owed.failures > 0);
    page.list("Pending cleanup", due.map(owed));
    page.list("Kept worktrees", view.session.kept.iter().filter_map(kept));
    page.list("History", view.timeline.iter().map(|event| events::line(event, false, color)));
    page.list("Unavailable", view.trouble.iter().map(|trouble| sanitize(trouble)));
    page.text
}

fn session(page: &mut Page, session: &SessionView) {
    page.section("Session");
    page.entry("id", &session.id);
    page.entry("name", session.name.as_deref().unwrap_or("-"));
    page.entry("phase", session.phase.label());
    page.entry_if("queued", session.queue_position.map(|place| format!("position {place}")));
    let ready = match session.ready {
        ReadyState::Unasked => None,
        ReadyState::Ready => Some("yes"),
        ReadyState::Missed => Some("no, it was not ready in time"),
        ReadyState::Waiting if session.phase < Phase::Reaped => Some("not yet"),
        ReadyState::Waiting => Some("no, it ended before it was ready"),
    };
    page.entry_if("ready", ready);
    page.entry_if("status", reported(session).map(|report| sanitize(&report)));
    page.entry("requested", &session.wanted);
    page.entry("exit", exit_text(session.exit.as_ref()));
    for trouble in &session.trouble {
        page.entry("problem", sanitize(trouble));
    }
    page.entry_if("reason", session.reason.as_ref().map(|why| sanitize(&why.to_string())));
    let started_by = match session.started_by {
        StartedBy::Kennel => "kennel",
        StartedBy::User => "the user (adopted; Kennel only tracks it)",
    };
    page.entry("started by", started_by);
    page.entry("created", &session.created_at);
    page.entry("started", session.started_at.as_deref().unwrap_or("-"));
    page.entry("ended", session.ended_at.as_deref().unwrap_or("-"));
    page.entry("folder", sanitize(&session.folder));
    if session.unrecorded {
        page.entry("record", "the outcome could not be recorded");
    }
}

fn asked(page: &mut Page, session: &SessionView) {
    let spec = &session.spec;
    page.section("Options");
    page.entry("command", sanitize(&shell_words(&spec.argv)));
    page.entry("cwd", sanitize(&spec.cwd));
    if let Some(worktree) = &spec.worktree {
        let (path, branch) = (sanitize(&worktree.path), sanitize(&worktree.branch));
        page.entry("worktree", format!("{path}, branch {branch}"));
    }
    page.entry("client", sanitize(&spec.asked_by));
    if session.started_by == StartedBy::User {
        return;
    }
    let streams = match (&spec.terminal, spec.stdin) {
        (Some(size), _) => format!("terminal, initially {} x {}", size.columns, size.rows),
        (None, true) => "pipes; standard input is open".to_owned(),
        (None, false) => "pipes".to_owned(),
    };
    page.entry("streams", streams);
    if spec.ready != Readiness::None {
        let within = spec
            .ready_timeout
            .map_or("without a time limit".to_owned(), |time| format!("within {}", span(time)));
        page.entry("ready check", format!("{}, {within}", sanitize(&spec.ready.to_string())));
    }
    limits(page, spec);
    page.entry("grace", span(spec.grace));
    page.entry("linger", span(spec.linger));
    page.entry("lease", spec.lease.map_or("off".to_owned(), span));
    page.entry("output", format!("at most {} on disk", size(spec.output_limit)));
    page.entry_if("key", spec.key.as_deref().map(sanitize));
    if spec.restart != Restart::Never {
        let unknown =
            if spec.restart_unknown { ", also if the exit status is unknown" } else { "" };
        page.entry("restart", format!("{}{unknown}", spec.restart));
    }
    if spec.tethered {
        page.entry("tied to", "the client that started it");
    }
    if let Some(parent) = &spec.parent {
        let stays =
            if spec.outlives_parent { "; keeps running after it" } else { "; ends with it" };
        page.entry("parent", format!("{parent}{stays}"));
    }
}

fn limits(page: &mut Page, spec: &SessionSpec) {
    for (name, time) in [("timeout", spec.timeout), ("idle", spec.idle), ("silence", spec.silence)]
    {
        page.entry_if(name, time.map(|time| format!("at most {}", span(time))));
    }
    page.entry_if("memory", spec.memory.map(|bytes| format!("at most {}", size(bytes))));
    page.entry_if("pids", spec.pids.map(|most| format!("at most {most}")));
    let cores = spec.cpu.map(|thousandths| f64::from(thousandths) / 1000.0);
    page.entry_if("cpu", cores.map(|cores| format!("at most {cores} cores")));
    if spec.best_effort {
        page.entry("best effort", "yes: limits that can't be enforced are ignored");
    }
}

/// Shows the launches of a session, if there are several or another one is pending.
fn launches(page: &mut Page, view: &InspectView) {
    let follows = match &view.session.relaunch {
        RelaunchState::Pending => Some("another launch is pending".to_owned()),
        RelaunchState::CalledOff { by } => {
            Some(format!("the next launch was cancelled by {}", sanitize(by)))
        }
        RelaunchState::Undecided | RelaunchState::Launched => None,
    };
    if view.launches.len() < 2 && follows.is_none() {
        return;
    }
    let launches = view.launches.iter().map(|launch| {
        let (phase, ended) = (launch.phase.label(), ended_text(launch.exit.as_ref()));
        format!("{}  {}  {phase}, {ended}", launch.id, launch.created_at)
    });
    page.list("Launches", launches.chain(follows));
}

fn processes(page: &mut Page, view: &InspectView) {
    page.section("Processes");
    page.entry("agent", view.session.pid.map_or("-".to_owned(), |pid| format!("pid {pid}")));
    if view.session.started_by == StartedBy::User {
        page.entry("pen", "none: its child processes are not contained");
    } else {
        pen(page, view);
    }
    for line in tree(&view.members) {
        page.line(line);
    }
    for survivor in &view.session.survivors {
        page.line(format!("still alive: {}", sanitize(&survivor.to_string())));
    }
}

fn pen(page: &mut Page, view: &InspectView) {
    page.entry("keeper", view.keeper_pid.map_or("-".to_owned(), |pid| pid.to_string()));
    page.entry("pen", sanitize(view.session.pen.as_deref().unwrap_or("-")));
    if view.session.phase != Phase::Running {
        let (yes, no) = ("yes: the program may have run", "no: the program never ran");
        page.entry("granted", if view.launch.granted { yes } else { no });
    }
    if let Some(usage) = &view.usage {
        page.entry("cpu", span(Duration::from_millis(usage.cpu_ms)));
        page.entry("memory", size(usage.memory_bytes));
        page.entry("count", usage.processes.to_string());
    }
}

fn tree(members: &[ProcessView]) -> Vec<String> {
    let mut children: BTreeMap<Option<i32>, Vec<&ProcessView>> = BTreeMap::new();
    for member in members {
        let known =
            members.iter().any(|other| other.pid == member.parent && other.pid != member.pid);
        children.entry(known.then_some(member.parent)).or_default().push(member);
    }
    let mut lines = Vec::new();
    // An inconsistent list may contain a cycle, so each process is shown once.
    let mut shown = Vec::new();
    draw(&children, None, "", &mut lines, &mut shown);
    lines
}

fn draw(
    children: &BTreeMap<Option<i32>, Vec<&ProcessView>>,
    of: Option<i32>,
    indent: &str,
    lines: &mut Vec<String>,
    shown: &mut Vec<i32>,
) {
    let members = children.get(&of).map(Vec::as_slice).unwrap_or_default();
    for (at, member) in members.iter().enumerate() {
        if shown.contains(&member.pid) {
            continue;
        }
        shown.push(member.pid);
        let last = at + 1 == members.len();
        let (branch, below) = match (of, last) {
            (None, _) => ("", ""),
            (_, true) => ("└─ ", "   "),
            (_, false) => ("├─ ", "│  "),
        };
        let ProcessView { pid, state, name, command, .. } = member;
        let command = if command.is_empty() { format!("({name})") } else { command.clone() };
        lines.push(format!("{indent}{branch}{pid} {state} {}", sanitize(&command)));
        draw(children, Some(member.pid), &format!("{indent}{below}"), lines, shown);
    }
}

fn owed(owed: &Owed) -> String {
    let what = match &owed.what {
        OwedKind::RuntimeFiles => "socket and lock file".to_owned(),
        OwedKind::PenFolder { path } => format!("pen folder {}", sanitize(path)),
        OwedKind::Worktree { path, branch, .. } => {
            format!("worktree {} with branch {}", sanitize(path), sanitize(branch))
        }
    };
    match (owed.failures, &owed.why) {
        (0, _) => what,
        (times, None) => format!("{what} (failed attempts: {times})"),
        (times, Some(why)) => format!("{what} (failed attempts: {times}): {}", sanitize(why)),
    }
}

fn kept(kept: &KeptItem) -> Option<String> {
    let OwedKind::Worktree { path, branch, .. } = &kept.what else { return None };
    let (path, branch, why) = (sanitize(path), sanitize(branch), sanitize(&kept.why));
    Some(format!("{path} with branch {branch}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::tests::session as view_of_session;
    use kennel_types::api::UsageView;
    use kennel_types::{EventView, LaunchView};

    fn member(pid: i32, parent: i32, command: &str) -> ProcessView {
        ProcessView {
            pid,
            parent,
            name: "name".to_owned(),
            state: "S".to_owned(),
            command: command.to_owned(),
        }
    }

    #[test]
    fn draws_a_tree_with_orphans_at_the_top() {
        let members = [
            member(10, 9, "claude"),
            member(12, 11, "esbuild"),
            member(11, 10, "node server.js"),
            member(13, 10, ""),
            member(20, 1, "daemon"),
        ];
        assert_eq!(
            tree(&members),
            [
                "10 S claude",
                "├─ 11 S node server.js",
                "│  └─ 12 S esbuild",
                "└─ 13 S (name)",
                "20 S daemon"
            ]
        );
    }

    #[test]
    fn tolerates_a_cycle_in_an_inconsistent_list() {
        assert!(tree(&[member(1, 2, "a"), member(2, 1, "b")]).is_empty());
        assert_eq!(tree(&[member(5, 5, "a")]).len(), 1);
    }

    #[test]
    fn shows_the_options_that_were_set() {
        let mut session = view_of_session();
        let page_of = |session: &SessionView| {
            let mut page = Page { text: String::new(), color: ColorMode::Plain };
            asked(&mut page, session);
            page.text
        };
        let plain = page_of(&session);
        for name in ["timeout", "idle", "silence", "memory", "pids", "cpu", "best effort"] {
            assert!(!plain.contains(&format!("\n  {name} ")), "{name} in {plain}");
        }
        session.spec = SessionSpec {
            timeout: Some(Duration::from_secs(5400)),
            idle: Some(Duration::from_secs(60)),
            silence: Some(Duration::from_secs(30)),
            memory: Some(4 << 30),
            pids: Some(500),
            cpu: Some(1500),
            best_effort: true,
            ready: Readiness::Report,
            ready_timeout: Some(Duration::from_secs(120)),
            restart: "on-failure:3".parse().unwrap(),
            key: Some("7f3a".to_owned()),
            ..session.spec
        };
        insta::assert_snapshot!(page_of(&session));
    }

    #[test]
    fn shows_all_sections() {
        let view = InspectView {
            session: view_of_session(),
            members: vec![member(4711, 9, "claude -p x")],
            usage: Some(UsageView { cpu_ms: 1500, memory_bytes: 3 << 20, processes: 1 }),
            timeline: vec![EventView {
                seq: 1,
                time: "2026-01-31T12:00:00.000Z".to_owned(),
                session: Some("0c3k5d9wq2fa".to_owned()),
                kind: "reserved".to_owned(),
                cause: String::new(),
                by: None,
            }],
            launch: LaunchView { granted: true, identity: Some("boot 1 4711 inode 5".to_owned()) },
            launches: vec![view_of_session()],
            keeper_pid: Some(4700),
            trouble: vec!["its keeper does not answer".to_owned()],
        };
        insta::assert_snapshot!(text(&view, ColorMode::Plain));
    }
}
