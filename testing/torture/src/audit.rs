//! The audit from outside: once everything is idle again, and once more after the shutdown.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use kennel_testing::{Pen, Scene};
use kennel_types::{Phase, RelaunchState, SessionView};
use rustix::process::Signal;
use serde_json::Value;

use crate::bystanders::Bystanders;
use crate::judge::{TortureEvidence, judge, may_be_lost};
use crate::ledger::Ledger;
use crate::output::JournalOutput;
use crate::processes::{
    ProcessHandle, ProcessRole, SceneProcess, lives, look, open_files, witness_folder,
};
use crate::witness::Witness;

#[cfg(test)]
mod tests;

/// How long everything may take to become idle, on a machine that has other work too.
pub(crate) const SETTLE_TIMEOUT: Duration = Duration::from_secs(90);
/// The interval of polling.
const POLL_INTERVAL: Duration = Duration::from_millis(30);

/// The maximum number of descriptors for the register: its connections use a few each.
const REGISTER: usize = 16;

/// The resources that Kennel uses when it is idle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IdleResources {
    daemon: usize,
    yard: usize,
}

/// An audit of one home.
pub(crate) struct Audit<'a> {
    pub(crate) scene: &'a Scene,
    pub(crate) ledger: &'a Ledger,
    pub(crate) bystanders: &'a Bystanders,
    /// The limit of live sessions.
    pub(crate) cap: usize,
    pub(crate) baseline: &'a IdleResources,
    /// How long everything may take to become idle.
    pub(crate) timeout: Duration,
}

impl Audit<'_> {
    /// Returns all findings. Stops the daemon at the end.
    pub(crate) fn run(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        if self.settle(&mut wrong).is_none() {
            return wrong;
        }
        self.check_owners(&mut wrong);
        self.check_sessions(&mut wrong);
        self.forget_lost_sessions(&mut wrong);
        self.ledger.open().note_all(|it| it.stop = true);
        self.expect_ok(&["stop", "--all"], &mut wrong);
        if self.settle(&mut wrong).is_none() {
            return wrong;
        }
        self.check_sessions(&mut wrong);
        self.check_worktrees(&mut wrong);
        self.check_files(&mut wrong);
        self.check_baseline(&mut wrong);
        self.ledger.open().faults.shutdown = true;
        self.expect_ok(&["daemon", "stop"], &mut wrong);
        self.check_nothing_left(&mut wrong);
        wrong.extend(self.bystanders.harmed());
        self.check_logs(&mut wrong);
        wrong
    }

    fn expect_ok(&self, args: &[&str], wrong: &mut Vec<String>) -> Option<String> {
        let ended = self.scene.call(args);
        if ended.code == 0 {
            return Some(ended.stdout);
        }
        wrong.push(format!("kennel {args:?} failed without faults: {ended:?}"));
        None
    }

    /// Returns every launch on record.
    fn sessions(&self, wrong: &mut Vec<String>) -> Option<Vec<SessionView>> {
        let text = self.expect_ok(&["ps", "-a", "--json"], wrong)?;
        match serde_json::from_str(&text) {
            Ok(sessions) => Some(sessions),
            Err(error) => {
                wrong.push(format!("ps: {error}: {text}"));
                None
            }
        }
    }

    /// Waits until everything is idle.
    fn settle(&self, wrong: &mut Vec<String>) -> Option<()> {
        let deadline = Instant::now() + self.timeout;
        loop {
            let sessions = self.sessions(wrong)?;
            let open: Vec<_> =
                sessions.iter().filter(|it| !self.is_settled(it, &sessions)).collect();
            if open.is_empty() {
                return Some(());
            }
            if Instant::now() > deadline {
                wrong.push(format!("not idle after {:?}: {open:#?}", self.timeout));
                return None;
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    fn is_settled(&self, view: &SessionView, all: &[SessionView]) -> bool {
        let live =
            || all.iter().filter(|it| !matches!(it.phase, Phase::Queued | Phase::Cleaned)).count();
        match view.phase {
            Phase::Running => view.wanted == "running" && view.pid.is_some_and(lives),
            Phase::Cleaned => view.relaunch != RelaunchState::Pending,
            Phase::Queued => live() >= self.cap,
            Phase::Lost => may_be_lost(view, &self.ledger.open().faults, true),
            _ => false,
        }
    }

    /// Checks that every live process belongs to a live session or to Kennel itself.
    fn check_owners(&self, wrong: &mut Vec<String>) {
        let deadline = Instant::now() + self.timeout;
        loop {
            let Some(sessions) = self.sessions(wrong) else { return };
            let strays = strays(self.look(), &sessions, |name| self.was_given_up(name));
            if strays.is_empty() {
                return;
            }
            if Instant::now() > deadline {
                wrong.push(format!("strays: {strays:#?}"));
                return;
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    fn look(&self) -> Vec<SceneProcess> {
        look(self.scene, &self.bystanders.pids())
    }

    /// Returns whether a process may be left of a session that was lost and forgotten: Kennel can't
    /// find it.
    fn was_given_up(&self, name: &str) -> bool {
        let record = self.ledger.open();
        record.faults.yard > 0
            && record.requested.get(name).is_some_and(|requested| requested.forgotten)
    }

    /// Checks status, output, counts and answers of all sessions.
    fn check_sessions(&self, wrong: &mut Vec<String>) {
        let Some(sessions) = self.sessions(wrong) else { return };
        let folder = witness_folder(self.scene);
        let record = self.ledger.open();
        let witnesses: BTreeMap<_, _> = record
            .requested
            .keys()
            .map(|name| (name.clone(), Witness::read(&folder, name)))
            .collect();
        let outputs: BTreeMap<_, _> = sessions
            .iter()
            .map(|it| (it.id.clone(), JournalOutput::read(&PathBuf::from(&it.folder))))
            .collect();
        wrong.extend(judge(&TortureEvidence {
            record: &record,
            sessions: &sessions,
            witnesses: &witnesses,
            outputs: &outputs,
        }));
    }

    /// Forgets lost sessions, as a user would, and ends what is left of them, since Kennel can't
    /// find it.
    fn forget_lost_sessions(&self, wrong: &mut Vec<String>) {
        let Some(sessions) = self.sessions(wrong) else { return };
        for lost in sessions.iter().filter(|it| it.phase == Phase::Lost) {
            self.ledger.count("sessions lost and forgotten");
            if let Some(name) = &lost.name {
                self.ledger.note(name, |it| it.forgotten = true);
            }
            self.expect_ok(&["forget", &lost.id], wrong);
        }
        let running = names(&sessions, Phase::Running);
        let is_left = |found: &SceneProcess| match &found.role {
            ProcessRole::Session(name) => self.was_given_up(name) && !running.contains(name),
            _ => false,
        };
        let deadline = Instant::now() + self.timeout;
        loop {
            let left: Vec<_> = self.look().into_iter().filter(is_left).collect();
            if left.is_empty() || Instant::now() > deadline {
                return; // what is left is reported when nothing may be left
            }
            for handle in left.iter().filter_map(|found| ProcessHandle::open(self.scene, found)) {
                handle.send(Signal::KILL);
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Checks that exactly the worktrees with changes are kept.
    fn check_worktrees(&self, wrong: &mut Vec<String>) {
        let deadline = Instant::now() + self.timeout;
        let listed = loop {
            let Some(text) = self.expect_ok(&["worktrees", "--json"], wrong) else { return };
            let view: Value = serde_json::from_str(&text).unwrap_or_default();
            let listed = view["worktrees"].as_array().cloned().unwrap_or_default();
            if listed.iter().all(|it| it["state"] == "kept") {
                break listed;
            }
            if Instant::now() > deadline {
                wrong.push(format!(
                    "worktrees are still due for removal after {:?}: {listed:#?}",
                    self.timeout
                ));
                return;
            }
            thread::sleep(POLL_INTERVAL);
        };
        let folder = witness_folder(self.scene);
        let kept: BTreeSet<String> =
            listed.iter().filter_map(|it| it["name"].as_str().map(String::from)).collect();
        for name in &kept {
            if !Witness::read(&folder, name).dirty && !self.may_be_unjudged(name) {
                wrong.push(format!("a worktree without changes is kept: {name} in {listed:#?}"));
            }
        }
        for (name, requested) in &self.ledger.open().requested {
            if Witness::read(&folder, name).dirty && !kept.contains(name) {
                wrong.push(format!("a worktree with changes is gone: {name}: {requested:?}"));
            }
        }
        for path in listed.iter().filter_map(|it| it["path"].as_str()) {
            self.expect_ok(&["worktrees", "rm", "--force", "--yes", path], wrong);
        }
        for name in &kept {
            // The audit has just removed the changes itself.
            fs::remove_file(folder.join(format!("{name}.dirty"))).ok();
        }
        self.check_repository(wrong);
    }

    /// Returns whether Kennel may have been unable to inspect the worktree: it keeps those of
    /// forgotten sessions, and those for which git failed.
    fn may_be_unjudged(&self, name: &str) -> bool {
        let record = self.ledger.open();
        let given_up = record.requested.get(name).is_some_and(|requested| requested.forgotten);
        given_up || record.faults.git > 0 || record.faults.disk || record.faults.starved
    }

    fn check_repository(&self, wrong: &mut Vec<String>) {
        let repo = self.scene.path("work/repo");
        let script = "git fsck --strict --no-dangling >&2 && git worktree list --porcelain | grep -c ^worktree; \
                      git for-each-ref refs/heads/kennel";
        let mut shell = self.scene.command(std::path::Path::new("/bin/sh"));
        shell.args(["-c", script]).current_dir(repo);
        let ended = kennel_testing::Running::start(shell).wait();
        if ended.code != 0 || ended.stdout.trim() != "1" {
            wrong.push(format!("the repository has changed: {ended:?}"));
        }
        let place = self.scene.kennel_home().join("worktrees");
        let left: Vec<_> =
            fs::read_dir(place).into_iter().flatten().flatten().map(|it| it.path()).collect();
        if !left.is_empty() {
            wrong.push(format!("files left in the folder of worktrees: {left:?}"));
        }
    }

    /// Checks that a session that is over has no socket and no token, and that its lock is free.
    fn check_files(&self, wrong: &mut Vec<String>) {
        let Some(sessions) = self.sessions(wrong) else { return };
        for view in &sessions {
            let folder = PathBuf::from(&view.folder);
            for file in ["keeper.sock", "token"] {
                if folder.join(file).exists() {
                    wrong.push(format!("{file} is left behind by {view:?}"));
                }
            }
            let deadline = Instant::now() + self.timeout;
            while !kennel_testing::is_free(&folder.join("lock")) {
                if Instant::now() > deadline {
                    wrong.push(format!("the lock is still held of {view:?}"));
                    break;
                }
                thread::sleep(POLL_INTERVAL);
            }
        }
        let known: BTreeSet<&str> = sessions.iter().map(|it| it.id.as_str()).collect();
        let folders = fs::read_dir(self.scene.kennel_home().join("sessions"));
        for folder in folders.into_iter().flatten().flatten() {
            let name = folder.file_name().to_string_lossy().into_owned();
            if !known.contains(name.as_str()) {
                wrong.push(format!("a folder without a session on record: {name}"));
            }
        }
    }

    fn check_baseline(&self, wrong: &mut Vec<String>) {
        let deadline = Instant::now() + self.timeout;
        loop {
            let now = baseline(self.scene, self.bystanders);
            if let Some(now) = &now
                && now.daemon <= self.baseline.daemon
                // Some yards have a second signalfd from the start; a third one was never seen.
                && now.yard <= self.baseline.yard + 1
            {
                return;
            }
            if Instant::now() > deadline {
                let open = self
                    .look()
                    .into_iter()
                    .filter(|it| matches!(it.role, ProcessRole::Daemon | ProcessRole::Yard));
                let open: Vec<_> =
                    open.map(|it| (it.process.command, open_files(it.process.pid))).collect();
                wrong.push(format!(
                    "descriptors: {now:?}, and {:?} before: {open:#?}",
                    self.baseline
                ));
                return;
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Checks that the daemon leaves no process, no pen and no socket.
    fn check_nothing_left(&self, wrong: &mut Vec<String>) {
        let deadline = Instant::now() + self.timeout;
        let cgroup_of_others = "kennel-0123456789abcdef-0c3k5d9wq2fa";
        loop {
            let processes = self.look();
            let mut pens = self.scene.pens();
            pens.retain(|pen| {
                !pen.ends_with(cgroup_of_others) && !pen.ends_with("kennel-supervisor")
            });
            if processes.is_empty() && pens.is_empty() {
                break;
            }
            if Instant::now() > deadline {
                wrong.push(format!("left behind by the daemon: {processes:#?} {pens:?}"));
                return;
            }
            thread::sleep(POLL_INTERVAL);
        }
        for socket in ["kennel.sock", "deposit.sock"] {
            if self.scene.kennel_home().join(socket).exists() {
                wrong.push(format!("{socket} is left behind by the daemon"));
            }
        }
    }

    fn check_logs(&self, wrong: &mut Vec<String>) {
        let logs = self.scene.logs();
        for line in logs.lines().filter(|line| line.contains("panicked")) {
            wrong.push(format!("in the log: {line}"));
        }
    }
}

/// Returns the processes that belong neither to Kennel nor to a session that runs or is lost.
fn strays(
    all: Vec<SceneProcess>,
    sessions: &[SessionView],
    given_up: impl Fn(&str) -> bool,
) -> Vec<SceneProcess> {
    let (running, lost) = (names(sessions, Phase::Running), names(sessions, Phase::Lost));
    let runs =
        |launch: &str| sessions.iter().any(|it| it.id == launch && it.phase == Phase::Running);
    let is_stray = |it: &SceneProcess| match &it.role {
        ProcessRole::Session(name) => {
            !running.contains(name) && !lost.contains(name) && !given_up(name)
        }
        ProcessRole::Keeper(Some(launch)) => !runs(launch),
        ProcessRole::Keeper(None) | ProcessRole::Git | ProcessRole::Other => true,
        ProcessRole::Yard | ProcessRole::Daemon | ProcessRole::Spare => false,
    };
    all.into_iter().filter(is_stray).collect()
}

fn names(sessions: &[SessionView], phase: Phase) -> BTreeSet<String> {
    sessions.iter().filter(|it| it.phase == phase).filter_map(|it| it.name.clone()).collect()
}

/// Returns the resources in use, after all spare keepers have been ended; `None` while there are
/// keepers.
pub(crate) fn baseline(scene: &Scene, bystanders: &Bystanders) -> Option<IdleResources> {
    let all = look(scene, &bystanders.pids());
    for spare in all.iter().filter(|it| matches!(it.role, ProcessRole::Spare)) {
        if let Some(handle) = ProcessHandle::open(scene, spare) {
            handle.send(Signal::KILL);
        }
    }
    if all.iter().any(|it| matches!(it.role, ProcessRole::Spare | ProcessRole::Keeper(_))) {
        return None;
    }
    // The register opens connections when it needs them, and keeps them.
    let is_register = |file: &PathBuf| file.to_string_lossy().contains("/register.db");
    let count = |role: ProcessRole| {
        let found = all.iter().find(|it| it.role == role)?;
        let open = open_files(found.process.pid);
        let (register, others): (Vec<_>, Vec<_>) = open.into_iter().partition(is_register);
        Some(if register.len() > REGISTER { usize::MAX } else { others.len() })
    };
    Some(IdleResources { daemon: count(ProcessRole::Daemon)?, yard: count(ProcessRole::Yard)? })
}

/// Returns the pens that a scene supports.
pub(crate) fn pens(scene: &Scene) -> Vec<&'static str> {
    match scene.pen {
        Pen::Cgroup => vec!["cgroup", "subtree", "auto"],
        Pen::Subtree => vec!["subtree", "auto"],
    }
}
