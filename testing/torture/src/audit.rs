//! The look from outside when everything is quiet again, and then when everything is over.

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
use crate::judge::{Evidence, judge, may_be_lost};
use crate::ledger::Ledger;
use crate::output::Output;
use crate::processes::{Found, Handle, Role, lives, look, open_files, witness_folder};
use crate::witness::Witness;

#[cfg(test)]
mod tests;

/// How long everything may take to settle, on a machine that others use as well.
pub(crate) const SETTLES: Duration = Duration::from_secs(90);
/// The pause between looks.
const LOOK_AGAIN: Duration = Duration::from_millis(30);

/// The most descriptors that the daemon may have for the register: what its few connections take.
const REGISTER: usize = 16;

/// What Kennel holds when nothing goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Baseline {
    daemon: usize,
    yard: usize,
}

/// See the module.
pub(crate) struct Audit<'a> {
    pub(crate) scene: &'a Scene,
    pub(crate) ledger: &'a Ledger,
    pub(crate) bystanders: &'a Bystanders,
    /// How many sessions may live at once.
    pub(crate) cap: usize,
    pub(crate) baseline: &'a Baseline,
    /// How long everything may take to settle.
    pub(crate) patience: Duration,
}

impl Audit<'_> {
    /// Everything that is wrong. The daemon is stopped at the end.
    pub(crate) fn run(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        if self.settle(&mut wrong).is_none() {
            return wrong;
        }
        self.check_owners(&mut wrong);
        self.check_sessions(&mut wrong);
        self.forget_the_lost(&mut wrong);
        self.ledger.open().note_all(|it| it.stop = true);
        self.expect_ok(&["stop", "--all"], &mut wrong);
        if self.settle(&mut wrong).is_none() {
            return wrong;
        }
        self.check_sessions(&mut wrong);
        self.check_worktrees(&mut wrong);
        self.check_files(&mut wrong);
        self.check_baseline(&mut wrong);
        self.ledger.open().blows.shutdown = true;
        self.expect_ok(&["daemon", "stop"], &mut wrong);
        self.check_nothing_left(&mut wrong);
        wrong.extend(self.bystanders.hit());
        self.check_logs(&mut wrong);
        wrong
    }

    fn expect_ok(&self, args: &[&str], wrong: &mut Vec<String>) -> Option<String> {
        let ended = self.scene.call(args);
        if ended.code == 0 {
            return Some(ended.stdout);
        }
        wrong.push(format!("kennel {args:?}, in peace: {ended:?}"));
        None
    }

    /// Every launch on record.
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

    /// Waits until nothing is under way any more.
    fn settle(&self, wrong: &mut Vec<String>) -> Option<()> {
        let deadline = Instant::now() + self.patience;
        loop {
            let sessions = self.sessions(wrong)?;
            let open: Vec<_> =
                sessions.iter().filter(|it| !self.is_settled(it, &sessions)).collect();
            if open.is_empty() {
                return Some(());
            }
            if Instant::now() > deadline {
                wrong.push(format!("does not settle in {:?}: {open:#?}", self.patience));
                return None;
            }
            thread::sleep(LOOK_AGAIN);
        }
    }

    fn is_settled(&self, view: &SessionView, all: &[SessionView]) -> bool {
        let live =
            || all.iter().filter(|it| !matches!(it.phase, Phase::Queued | Phase::Cleaned)).count();
        match view.phase {
            Phase::Running => view.wanted == "running" && view.pid.is_some_and(lives),
            Phase::Cleaned => view.relaunch != RelaunchState::Pending,
            Phase::Queued => live() >= self.cap,
            Phase::Lost => may_be_lost(view, &self.ledger.open().blows, true),
            _ => false,
        }
    }

    /// Everyone alive is a session's that lives, or Kennel's own.
    fn check_owners(&self, wrong: &mut Vec<String>) {
        let deadline = Instant::now() + self.patience;
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
            thread::sleep(LOOK_AGAIN);
        }
    }

    fn look(&self) -> Vec<Found> {
        look(self.scene, &self.bystanders.pids())
    }

    /// Of what was lost and then given up, somebody may be left: nobody can see him.
    fn was_given_up(&self, name: &str) -> bool {
        let deeds = self.ledger.open();
        deeds.blows.yard > 0 && deeds.asked.get(name).is_some_and(|asked| asked.forgotten)
    }

    /// Status, output, counts and answers of all.
    fn check_sessions(&self, wrong: &mut Vec<String>) {
        let Some(sessions) = self.sessions(wrong) else { return };
        let folder = witness_folder(self.scene);
        let deeds = self.ledger.open();
        let witnesses: BTreeMap<_, _> =
            deeds.asked.keys().map(|name| (name.clone(), Witness::read(&folder, name))).collect();
        let outputs: BTreeMap<_, _> = sessions
            .iter()
            .map(|it| (it.id.clone(), Output::read(&PathBuf::from(&it.folder))))
            .collect();
        wrong.extend(judge(&Evidence {
            deeds: &deeds,
            sessions: &sessions,
            witnesses: &witnesses,
            outputs: &outputs,
        }));
    }

    /// What nobody can see any more stays until a person gives it up; then we end what is left, since nobody
    /// else could.
    fn forget_the_lost(&self, wrong: &mut Vec<String>) {
        let Some(sessions) = self.sessions(wrong) else { return };
        for lost in sessions.iter().filter(|it| it.phase == Phase::Lost) {
            self.ledger.count("sessions lost and given up");
            if let Some(name) = &lost.name {
                self.ledger.note(name, |it| it.forgotten = true);
            }
            self.expect_ok(&["forget", &lost.id], wrong);
        }
        for found in self.look() {
            if let Role::Session(name) = &found.role
                && self.was_given_up(name)
                && !names(&sessions, Phase::Running).contains(name)
                && let Some(handle) = Handle::open(self.scene, &found)
            {
                handle.send(Signal::KILL);
            }
        }
    }

    /// Only what has something of value is kept, and all of that.
    fn check_worktrees(&self, wrong: &mut Vec<String>) {
        let deadline = Instant::now() + self.patience;
        let listed = loop {
            let Some(text) = self.expect_ok(&["worktrees", "--json"], wrong) else { return };
            let view: Value = serde_json::from_str(&text).unwrap_or_default();
            let listed = view["worktrees"].as_array().cloned().unwrap_or_default();
            if listed.iter().all(|it| it["state"] == "kept") {
                break listed;
            }
            if Instant::now() > deadline {
                wrong.push(format!("worktrees are owed for {:?}: {listed:#?}", self.patience));
                return;
            }
            thread::sleep(LOOK_AGAIN);
        };
        let folder = witness_folder(self.scene);
        let kept: BTreeSet<String> =
            listed.iter().filter_map(|it| it["name"].as_str().map(String::from)).collect();
        for name in &kept {
            if !Witness::read(&folder, name).dirty && !self.may_be_unjudged(name) {
                wrong.push(format!(
                    "a worktree is kept that has nothing of value: {name} in {listed:#?}"
                ));
            }
        }
        for (name, asked) in &self.ledger.open().asked {
            if Witness::read(&folder, name).dirty && !kept.contains(name) {
                wrong
                    .push(format!("a worktree with something of value is gone: {name}: {asked:?}"));
            }
        }
        for path in listed.iter().filter_map(|it| it["path"].as_str()) {
            self.expect_ok(&["worktrees", "rm", "--force", "--yes", path], wrong);
        }
        for name in &kept {
            // What was of value is gone now, by our own wish.
            fs::remove_file(folder.join(format!("{name}.dirty"))).ok();
        }
        self.check_repository(wrong);
    }

    /// Whether nobody could tell what is in its worktree: what was given up, and what git failed over, is kept.
    fn may_be_unjudged(&self, name: &str) -> bool {
        let deeds = self.ledger.open();
        let given_up = deeds.asked.get(name).is_some_and(|asked| asked.forgotten);
        given_up || deeds.blows.git > 0 || deeds.blows.disk || deeds.blows.starved
    }

    fn check_repository(&self, wrong: &mut Vec<String>) {
        let repo = self.scene.path("work/repo");
        let script = "git fsck --strict --no-dangling >&2 && git worktree list --porcelain | grep -c ^worktree; \
                      git for-each-ref refs/heads/kennel";
        let mut shell = self.scene.command(std::path::Path::new("/bin/sh"));
        shell.args(["-c", script]).current_dir(repo);
        let ended = kennel_testing::Running::start(shell).wait();
        if ended.code != 0 || ended.stdout.trim() != "1" {
            wrong.push(format!("the repository is not as it was: {ended:?}"));
        }
        let place = self.scene.kennel_home().join("worktrees");
        let left: Vec<_> =
            fs::read_dir(place).into_iter().flatten().flatten().map(|it| it.path()).collect();
        if !left.is_empty() {
            wrong.push(format!("left where worktrees were: {left:?}"));
        }
    }

    /// Of what is over, no socket and no token is left, and its lock is free.
    fn check_files(&self, wrong: &mut Vec<String>) {
        let Some(sessions) = self.sessions(wrong) else { return };
        for view in &sessions {
            let folder = PathBuf::from(&view.folder);
            for file in ["keeper.sock", "token"] {
                if folder.join(file).exists() {
                    wrong.push(format!("{file} is left of {view:?}"));
                }
            }
            let deadline = Instant::now() + self.patience;
            while !kennel_testing::is_free(&folder.join("lock")) {
                if Instant::now() > deadline {
                    wrong.push(format!("the lock is held of {view:?}"));
                    break;
                }
                thread::sleep(LOOK_AGAIN);
            }
        }
        let known: BTreeSet<&str> = sessions.iter().map(|it| it.id.as_str()).collect();
        let folders = fs::read_dir(self.scene.kennel_home().join("sessions"));
        for folder in folders.into_iter().flatten().flatten() {
            let name = folder.file_name().to_string_lossy().into_owned();
            if !known.contains(name.as_str()) {
                wrong.push(format!("the folder of a session that is on no record: {name}"));
            }
        }
    }

    fn check_baseline(&self, wrong: &mut Vec<String>) {
        let deadline = Instant::now() + self.patience;
        loop {
            let now = baseline(self.scene, self.bystanders);
            if let Some(now) = &now
                && now.daemon <= self.baseline.daemon
                // Some yards have a second signalfd from their start on; none was seen to get a third.
                && now.yard <= self.baseline.yard + 1
            {
                return;
            }
            if Instant::now() > deadline {
                let open = self
                    .look()
                    .into_iter()
                    .filter(|it| matches!(it.role, Role::Daemon | Role::Yard));
                let open: Vec<_> =
                    open.map(|it| (it.process.command, open_files(it.process.pid))).collect();
                wrong.push(format!(
                    "descriptors: {now:?}, and {:?} before: {open:#?}",
                    self.baseline
                ));
                return;
            }
            thread::sleep(LOOK_AGAIN);
        }
    }

    /// After the daemon has left: no process, no pen, no socket.
    fn check_nothing_left(&self, wrong: &mut Vec<String>) {
        let deadline = Instant::now() + self.patience;
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
                wrong.push(format!("left after the daemon: {processes:#?} {pens:?}"));
                return;
            }
            thread::sleep(LOOK_AGAIN);
        }
        for socket in ["kennel.sock", "deposit.sock"] {
            if self.scene.kennel_home().join(socket).exists() {
                wrong.push(format!("{socket} is left after the daemon"));
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

/// Those who are neither Kennel's own nor of a session that runs, or that nobody can see any more.
fn strays(
    all: Vec<Found>,
    sessions: &[SessionView],
    given_up: impl Fn(&str) -> bool,
) -> Vec<Found> {
    let (running, lost) = (names(sessions, Phase::Running), names(sessions, Phase::Lost));
    let runs =
        |launch: &str| sessions.iter().any(|it| it.id == launch && it.phase == Phase::Running);
    let is_stray = |it: &Found| match &it.role {
        Role::Session(name) => !running.contains(name) && !lost.contains(name) && !given_up(name),
        Role::Keeper(Some(launch)) => !runs(launch),
        Role::Keeper(None) | Role::Git | Role::Other => true,
        Role::Yard | Role::Daemon | Role::Spare => false,
    };
    all.into_iter().filter(is_stray).collect()
}

fn names(sessions: &[SessionView], phase: Phase) -> BTreeSet<String> {
    sessions.iter().filter(|it| it.phase == phase).filter_map(|it| it.name.clone()).collect()
}

/// What is held now, with no keeper there at all: those that wait for a session are ended.
pub(crate) fn baseline(scene: &Scene, bystanders: &Bystanders) -> Option<Baseline> {
    let all = look(scene, &bystanders.pids());
    for spare in all.iter().filter(|it| matches!(it.role, Role::Spare)) {
        if let Some(handle) = Handle::open(scene, spare) {
            handle.send(Signal::KILL);
        }
    }
    if all.iter().any(|it| matches!(it.role, Role::Spare | Role::Keeper(_))) {
        return None;
    }
    // The register opens further connections as they are needed, and keeps them.
    let is_register = |file: &PathBuf| file.to_string_lossy().contains("/register.db");
    let count = |role: Role| {
        let found = all.iter().find(|it| it.role == role)?;
        let open = open_files(found.process.pid);
        let (register, others): (Vec<_>, Vec<_>) = open.into_iter().partition(is_register);
        Some(if register.len() > REGISTER { usize::MAX } else { others.len() })
    };
    Some(Baseline { daemon: count(Role::Daemon)?, yard: count(Role::Yard)? })
}

/// Which pens a session can be asked to have in a scene.
pub(crate) fn pens(scene: &Scene) -> Vec<&'static str> {
    match scene.pen {
        Pen::Cgroup => vec!["cgroup", "subtree", "auto"],
        Pen::Subtree => vec!["subtree", "auto"],
    }
}
