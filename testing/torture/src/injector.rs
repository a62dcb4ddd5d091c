//! The fault injector. It signals only processes that it has identified as the scene's, and only by
//! pidfd.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use kennel_testing::{Faults, Scene, SmallDisk, Who};
use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, prlimit};

use crate::bystanders::{Bystanders, PidReuse};
use crate::fault::{FaultStep, FaultVictim, InjectedFault, Shortage};
use crate::ledger::Ledger;
use crate::processes::{ProcessHandle, ProcessRole, SceneProcess, look};

/// System calls that are made to fail: those that create and report keepers and pens.
const CALLS: [&str; 14] = [
    "clone3",
    "dup",
    "flock",
    "memfd_create",
    "mkdir",
    "mmap",
    "open",
    "open /dev/null",
    "pidfd identity",
    "pipe2",
    "recvmsg",
    "sendmsg",
    "signalfd",
    "write gate",
];
/// The errors with which they fail.
const ERRORS: [Errno; 5] = [Errno::MFILE, Errno::NOMEM, Errno::AGAIN, Errno::IO, Errno::NOSPC];

/// The fault injector of a scene.
pub(crate) struct FaultInjector<'a> {
    pub(crate) scene: &'a Scene,
    pub(crate) ledger: &'a Ledger,
    pub(crate) bystanders: &'a Bystanders,
    /// The fault points, if they are compiled in.
    pub(crate) faults: &'a Faults,
    pub(crate) disk: Option<&'a SmallDisk<'a>>,
}

impl FaultInjector<'_> {
    /// Injects faults until `until`. Afterwards no fault is active any more.
    pub(crate) fn run(&self, rng: &mut Rng, until: Instant) {
        while Instant::now() < until {
            let step = FaultStep::draw(rng);
            if !self.perform(&step.fault) {
                continue; // there was no such process
            }
            self.ledger.count(step.fault.name());
            let pause = Duration::from_millis(step.pause_ms.into());
            thread::sleep(pause.min(until.saturating_duration_since(Instant::now())));
        }
    }

    /// Injects a fault; returns false if there was no process for it.
    fn perform(&self, fault: &InjectedFault) -> bool {
        match fault {
            InjectedFault::Kill(victims) => self.kill(victims),
            InjectedFault::Pause(victim, ms) => self.pause(*victim, *ms),
            InjectedFault::Starve(victim, shortage, ms) => self.starve(*victim, *shortage, *ms),
            InjectedFault::FillDisk(ms) => self.fill_disk(*ms),
            InjectedFault::Hold { point, at_most_ms, kill } => {
                self.hold(*point, *at_most_ms, *kill)
            }
            InjectedFault::Fail { call, errno, ms } => self.fail(*call, *errno, *ms),
            InjectedFault::ReusePid(which) => self.reuse_pid(*which),
        }
    }

    fn look(&self) -> Vec<SceneProcess> {
        look(self.scene, &self.bystanders.pids())
    }

    fn find(&self, victim: FaultVictim) -> Option<(SceneProcess, ProcessHandle)> {
        let fits = |found: &&SceneProcess| match (victim, &found.role) {
            (FaultVictim::Daemon, ProcessRole::Daemon)
            | (FaultVictim::Yard, ProcessRole::Yard)
            | (FaultVictim::Keeper(_), ProcessRole::Keeper(_))
            | (FaultVictim::Spare(_), ProcessRole::Spare)
            | (FaultVictim::Git(_), ProcessRole::Git) => true,
            // Only the agent itself: its notes show how it ended.
            (FaultVictim::Agent(_), ProcessRole::Session(_)) => {
                found.process.command.contains("fake-agent")
            }
            _ => false,
        };
        let all = self.look();
        let fitting: Vec<&SceneProcess> = all.iter().filter(fits).collect();
        let which = match victim {
            FaultVictim::Daemon | FaultVictim::Yard => 0,
            FaultVictim::Keeper(which)
            | FaultVictim::Spare(which)
            | FaultVictim::Agent(which)
            | FaultVictim::Git(which) => usize::try_from(which).unwrap_or(0),
        };
        let found = (*fitting.get(which.checked_rem(fitting.len())?)?).clone();
        let handle = ProcessHandle::open(self.scene, &found)?;
        Some((found, handle))
    }

    /// Kills all at once: none has time to notice another's end.
    fn kill(&self, victims: &[FaultVictim]) -> bool {
        let found: Vec<_> = victims.iter().filter_map(|victim| self.find(*victim)).collect();
        for (_, handle) in &found {
            handle.send(Signal::STOP);
        }
        for (found, handle) in &found {
            self.note_kill(found);
            handle.send(Signal::KILL);
        }
        !found.is_empty()
    }

    /// Records which end this explains. The process must be stopped, since its role may have
    /// changed.
    fn note_kill(&self, found: &SceneProcess) {
        let now = self.look().into_iter().find(|it| it.process.pid == found.process.pid);
        let role = now.map_or_else(|| found.role.clone(), |now| now.role);
        let mut record = self.ledger.open();
        match role {
            ProcessRole::Daemon => record.faults.daemon += 1,
            ProcessRole::Yard => record.faults.yard += 1,
            ProcessRole::Keeper(Some(launch)) => {
                record.faults.keepers.insert(launch);
            }
            ProcessRole::Keeper(None) | ProcessRole::Spare => record.faults.unknown_keepers += 1,
            ProcessRole::Session(name) => {
                if let Some(requested) = record.requested.get_mut(&name) {
                    requested.agent_killed = true;
                }
            }
            ProcessRole::Git => record.faults.git += 1,
            ProcessRole::Other => {}
        }
    }

    fn pause(&self, victim: FaultVictim, ms: u32) -> bool {
        let Some((_, handle)) = self.find(victim) else { return false };
        handle.send(Signal::STOP);
        thread::sleep(Duration::from_millis(ms.into()));
        handle.send(Signal::CONT);
        true
    }

    /// Lowers a resource limit, then restores it for the process and for those that it has forked
    /// meanwhile.
    fn starve(&self, victim: FaultVictim, shortage: Shortage, ms: u32) -> bool {
        let Some((_, handle)) = self.find(victim) else { return false };
        let open = fs::read_dir(format!("/proc/{}/fd", handle.pid)).map_or(0, Iterator::count);
        let (Some(pid), true) = (Pid::from_raw(handle.pid), handle.is_there() && open > 0) else {
            return false;
        };
        let (resource, least) = match shortage {
            Shortage::Descriptors => (Resource::Nofile, open as u64),
            Shortage::Processes if self.scene.who == Who::Root => return false,
            Shortage::Processes => (Resource::Nproc, 1),
        };
        let scarce = Rlimit { current: Some(least), maximum: getrlimit(resource).maximum };
        let Ok(before) = prlimit(Some(pid), resource, scarce) else { return false };
        self.ledger.open().faults.starved = true;
        thread::sleep(Duration::from_millis(ms.into()));
        for other in self.look() {
            let is_kennel = other.process.command.starts_with("kennel-");
            if let (true, Some(pid)) = (is_kennel, Pid::from_raw(other.process.pid)) {
                give_back(pid, resource, &scarce, &before);
            }
        }
        true
    }

    fn fill_disk(&self, ms: u32) -> bool {
        let Some(disk) = self.disk else { return false };
        self.ledger.open().faults.disk = true;
        disk.fill();
        thread::sleep(Duration::from_millis(ms.into()));
        disk.free();
        true
    }

    fn hold(&self, point: u32, at_most_ms: u32, kill: bool) -> bool {
        let mut points: Vec<&'static str> = kennel_daemon::fault_points().collect();
        points.extend(kennel_keeper::KEEPER_POINTS.iter().chain(kennel_keeper::yard::POINTS));
        let point = pick(&points, point);
        let reached = self.scene.path("faults").join(format!("{point}.reached"));
        fs::remove_file(reached).ok();
        self.faults.arm(point);
        let there = self.faults.wait_reached(point, Duration::from_millis(at_most_ms.into()));
        let found = there.and_then(|pid| self.look().into_iter().find(|it| it.process.pid == pid));
        let handle = found.as_ref().and_then(|found| ProcessHandle::open(self.scene, found));
        if let (Some(found), Some(handle), true) = (&found, &handle, kill) {
            handle.send(Signal::STOP);
            self.note_kill(found);
            handle.send(Signal::KILL);
        }
        self.faults.disarm(point);
        handle.is_some()
    }

    fn fail(&self, call: u32, errno: u32, ms: u32) -> bool {
        let (call, errno) = (pick(&CALLS, call), pick(&ERRORS, errno));
        self.ledger.open().faults.starved = true;
        self.faults.fail(call, errno.raw_os_error());
        thread::sleep(Duration::from_millis(ms.into()));
        self.faults.let_succeed(call);
        true
    }

    fn reuse_pid(&self, which: u32) -> bool {
        let Some((found, handle)) = self.find(FaultVictim::Agent(which)) else { return false };
        handle.send(Signal::STOP);
        self.note_kill(&found);
        handle.send(Signal::KILL);
        match self.bystanders.reuse_pid(handle.pid, &found.process.command) {
            PidReuse::Yes => true,
            PidReuse::No => {
                self.ledger.count("agent killed");
                false
            }
        }
    }
}

/// Selects one of the values.
fn pick<T: Copy>(all: &[T], which: u32) -> T {
    all[usize::try_from(which).unwrap_or(0) % all.len()]
}

/// Restores the former limit of a process, if it has the lowered one.
fn give_back(pid: Pid, resource: Resource, scarce: &Rlimit, before: &Rlimit) {
    let name = if resource == Resource::Nofile { "Max open files" } else { "Max processes" };
    let limits = fs::read_to_string(format!("/proc/{}/limits", pid.as_raw_nonzero()));
    let limits = limits.unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix(name));
    let soft = line.and_then(|line| line.split_ascii_whitespace().next()?.parse::<u64>().ok());
    if soft.is_some() && soft == scarce.current {
        // The process may have ended meanwhile.
        prlimit(Some(pid), resource, *before).ok();
    }
}
