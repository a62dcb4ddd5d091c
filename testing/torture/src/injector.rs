//! Whoever kills, stops, starves and fills. It only hits whom it has seen to be the scene's, and by a handle.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use kennel_testing::{Faults, Scene, SmallDisk, Who};
use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, prlimit};

use crate::bystanders::{Bystanders, Taken};
use crate::ledger::Ledger;
use crate::processes::{Found, Handle, Role, look};
use crate::torment::{Blow, Lack, Torment, Victim};

/// Calls that are made to fail: those by which keepers and pens come to be and are told of.
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
/// What they fail with.
const ERRORS: [Errno; 5] = [Errno::MFILE, Errno::NOMEM, Errno::AGAIN, Errno::IO, Errno::NOSPC];

/// See the module.
pub(crate) struct Tormentor<'a> {
    pub(crate) scene: &'a Scene,
    pub(crate) ledger: &'a Ledger,
    pub(crate) bystanders: &'a Bystanders,
    /// Named points, where they are compiled in.
    pub(crate) faults: &'a Faults,
    pub(crate) disk: Option<&'a SmallDisk<'a>>,
}

impl Tormentor<'_> {
    /// Torments until then. Afterwards nobody stands still, starves or is held, and the disk has room.
    pub(crate) fn run(&self, rng: &mut Rng, until: Instant) {
        while Instant::now() < until {
            let torment = Torment::draw(rng);
            if !self.perform(&torment.blow) {
                continue; // nobody of that kind was there
            }
            self.ledger.count(torment.blow.name());
            let pause = Duration::from_millis(torment.pause_ms.into());
            thread::sleep(pause.min(until.saturating_duration_since(Instant::now())));
        }
    }

    /// Whether it hit anybody.
    fn perform(&self, blow: &Blow) -> bool {
        match blow {
            Blow::Kill(victims) => self.kill(victims),
            Blow::Pause(victim, ms) => self.pause(*victim, *ms),
            Blow::Starve(victim, lack, ms) => self.starve(*victim, *lack, *ms),
            Blow::FillDisk(ms) => self.fill_disk(*ms),
            Blow::Hold { point, at_most_ms, kill } => self.hold(*point, *at_most_ms, *kill),
            Blow::Fail { call, errno, ms } => self.fail(*call, *errno, *ms),
            Blow::Renumber(which) => self.renumber(*which),
        }
    }

    fn look(&self) -> Vec<Found> {
        look(self.scene, &self.bystanders.pids())
    }

    fn find(&self, victim: Victim) -> Option<(Found, Handle)> {
        let fits = |found: &&Found| match (victim, &found.role) {
            (Victim::Daemon, Role::Daemon)
            | (Victim::Yard, Role::Yard)
            | (Victim::Keeper(_), Role::Keeper(_))
            | (Victim::Spare(_), Role::Spare)
            | (Victim::Git(_), Role::Git) => true,
            // Of what an agent runs, only the agent: its end is known by what it notes.
            (Victim::Agent(_), Role::Session(_)) => found.process.command.contains("fake-agent"),
            _ => false,
        };
        let all = self.look();
        let fitting: Vec<&Found> = all.iter().filter(fits).collect();
        let which = match victim {
            Victim::Daemon | Victim::Yard => 0,
            Victim::Keeper(which)
            | Victim::Spare(which)
            | Victim::Agent(which)
            | Victim::Git(which) => usize::try_from(which).unwrap_or(0),
        };
        let found = (*fitting.get(which.checked_rem(fitting.len())?)?).clone();
        let handle = Handle::open(self.scene, &found)?;
        Some((found, handle))
    }

    /// Kills as if at one moment: none has time to see another go.
    fn kill(&self, victims: &[Victim]) -> bool {
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

    /// Notes whose end is explained by this. To be called when it stands still: what it is may have changed.
    fn note_kill(&self, found: &Found) {
        let now = self.look().into_iter().find(|it| it.process.pid == found.process.pid);
        let role = now.map_or_else(|| found.role.clone(), |now| now.role);
        let mut deeds = self.ledger.open();
        match role {
            Role::Daemon => deeds.blows.daemon += 1,
            Role::Yard => deeds.blows.yard += 1,
            Role::Keeper(Some(launch)) => {
                deeds.blows.keepers.insert(launch);
            }
            Role::Keeper(None) | Role::Spare => deeds.blows.keepers_of_nobody += 1,
            Role::Session(name) => {
                if let Some(asked) = deeds.asked.get_mut(&name) {
                    asked.agent_killed = true;
                }
            }
            Role::Git => deeds.blows.git += 1,
            Role::Other => {}
        }
    }

    fn pause(&self, victim: Victim, ms: u32) -> bool {
        let Some((_, handle)) = self.find(victim) else { return false };
        handle.send(Signal::STOP);
        thread::sleep(Duration::from_millis(ms.into()));
        handle.send(Signal::CONT);
        true
    }

    /// Takes away what it could have more of, and gives it back to it and to whom it has forked meanwhile.
    fn starve(&self, victim: Victim, lack: Lack, ms: u32) -> bool {
        let Some((_, handle)) = self.find(victim) else { return false };
        let open = fs::read_dir(format!("/proc/{}/fd", handle.pid)).map_or(0, Iterator::count);
        let (Some(pid), true) = (Pid::from_raw(handle.pid), handle.is_there() && open > 0) else {
            return false;
        };
        let (resource, least) = match lack {
            Lack::Descriptors => (Resource::Nofile, open as u64),
            Lack::Processes if self.scene.who == Who::Root => return false,
            Lack::Processes => (Resource::Nproc, 1),
        };
        let scarce = Rlimit { current: Some(least), maximum: getrlimit(resource).maximum };
        let Ok(before) = prlimit(Some(pid), resource, scarce) else { return false };
        self.ledger.open().blows.starved = true;
        thread::sleep(Duration::from_millis(ms.into()));
        for other in self.look() {
            let kin = other.process.command.starts_with("kennel-");
            if let (true, Some(pid)) = (kin, Pid::from_raw(other.process.pid)) {
                give_back(pid, resource, &scarce, &before);
            }
        }
        true
    }

    fn fill_disk(&self, ms: u32) -> bool {
        let Some(disk) = self.disk else { return false };
        self.ledger.open().blows.disk = true;
        disk.fill();
        thread::sleep(Duration::from_millis(ms.into()));
        disk.free();
        true
    }

    fn hold(&self, point: u32, at_most_ms: u32, kill: bool) -> bool {
        let points: Vec<&'static str> =
            [kennel_daemon::POINTS, kennel_keeper::KEEPER_POINTS, kennel_keeper::yard::POINTS]
                .concat();
        let point = pick(&points, point);
        let reached = self.scene.path("faults").join(format!("{point}.reached"));
        fs::remove_file(reached).ok();
        self.faults.arm(point);
        let there = self.faults.wait_reached(point, Duration::from_millis(at_most_ms.into()));
        let found = there.and_then(|pid| self.look().into_iter().find(|it| it.process.pid == pid));
        let handle = found.as_ref().and_then(|found| Handle::open(self.scene, found));
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
        self.ledger.open().blows.starved = true;
        self.faults.fail(call, errno.raw_os_error());
        thread::sleep(Duration::from_millis(ms.into()));
        self.faults.let_succeed(call);
        true
    }

    fn renumber(&self, which: u32) -> bool {
        let Some((found, handle)) = self.find(Victim::Agent(which)) else { return false };
        handle.send(Signal::STOP);
        self.note_kill(&found);
        handle.send(Signal::KILL);
        match self.bystanders.take_number(handle.pid, &found.process.command) {
            Taken::Yes => true,
            Taken::No => {
                self.ledger.count("agent killed");
                false
            }
        }
    }
}

/// One of these.
fn pick<T: Copy>(all: &[T], which: u32) -> T {
    all[usize::try_from(which).unwrap_or(0) % all.len()]
}

/// Gives somebody back what he has had, if it is he who was deprived of it.
fn give_back(pid: Pid, resource: Resource, scarce: &Rlimit, before: &Rlimit) {
    let name = if resource == Resource::Nofile { "Max open files" } else { "Max processes" };
    let limits = fs::read_to_string(format!("/proc/{}/limits", pid.as_raw_nonzero()));
    let limits = limits.unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix(name));
    let soft = line.and_then(|line| line.split_ascii_whitespace().next()?.parse::<u64>().ok());
    if soft.is_some() && soft == scarce.current {
        // It may have left just now.
        prlimit(Some(pid), resource, *before).ok();
    }
}
