//! The processes that a case kills.

use kennel_testing::{Process, Scene};
use rustix::process::{Pid, Signal, kill_process};

/// The processes to kill at a point, if they exist then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Victims {
    pub(crate) daemon: bool,
    pub(crate) keeper: bool,
    pub(crate) yard: bool,
}

/// The pids of the killed processes.
#[derive(Debug, Default)]
pub(crate) struct Killed {
    pub(crate) daemon: Option<i32>,
    pub(crate) keeper: Option<i32>,
    pub(crate) yard: Option<i32>,
}

impl Victims {
    /// Kills them at the same moment, so that none notices another's end.
    pub(crate) fn kill(self, scene: &Scene, keeper: Option<i32>) -> Killed {
        let killed = Killed {
            daemon: scene.daemon().filter(|_| self.daemon),
            keeper: keeper.filter(|_| self.keeper),
            yard: yard(scene).filter(|_| self.yard),
        };
        let pids = || [killed.daemon, killed.keeper, killed.yard].into_iter().flatten();
        for signal in [Signal::STOP, Signal::KILL] {
            pids().for_each(|pid| send(pid, signal));
        }
        killed
    }
}

fn send(pid: i32, signal: Signal) {
    let pid = Pid::from_raw(pid).expect("a pid");
    // It may have exited just now.
    kill_process(pid, signal).ok();
}

/// The yard from its own lock note: a newly forked keeper looks the same.
pub(crate) fn yard(scene: &Scene) -> Option<i32> {
    let note = std::fs::read_to_string(scene.kennel_home().join("yard.lock")).ok()?;
    let pid = note.trim().parse::<i32>().ok()?;
    // The pid of a dead yard may be reused.
    scene.all_processes().into_iter().find(|p| p.pid == pid && is_yard(p)).map(|p| p.pid)
}

fn is_yard(process: &Process) -> bool {
    process.command.starts_with("kennel-yard") && process.state != 'Z'
}

/// The yard's children except its daemon: keepers, whatever their names.
pub(crate) fn keepers(scene: &Scene) -> Vec<i32> {
    let Some(yard) = yard(scene) else { return Vec::new() };
    let children = scene.all_processes().into_iter().filter(|process| process.parent == yard);
    let others = ["kennel-daemon", "kennel-spare"];
    let is_keeper =
        |p: &Process| !others.iter().any(|name| p.command.starts_with(name)) && p.state != 'Z';
    children.filter(is_keeper).map(|process| process.pid).collect()
}
