//! A hermetic environment for one test.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::condition::eventually;
use crate::delegated;
use crate::faults;
use crate::look::{Process, is_root, processes_below};
use crate::running::{Ended, Running};
use crate::skip::skip;

/// The id of a user without a name and without privileges.
const OTHER: u32 = 64_321;

/// The user that runs Kennel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// The administrator.
    Root,
    /// A user without any privilege.
    Other,
}

/// The kind of pen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pen {
    /// A cgroup. Another user is in a cgroup that is delegated to it.
    Cgroup,
    /// The subtree only. Another user has no cgroup that it can write to.
    Subtree,
}

/// A hermetic environment. Dropping it ends and removes everything in it.
#[derive(Debug)]
pub struct Scene {
    folder: TempDir,
    cgroup: Option<PathBuf>,
    /// The user that runs Kennel.
    pub who: Who,
    /// The kind of its pens.
    pub pen: Pen,
}

impl Scene {
    /// Creates a scene. Records a skip and returns `None` if this machine does not support it.
    ///
    /// # Panics
    /// If the setup fails for another reason.
    #[must_use]
    pub fn new(who: Who, pen: Pen) -> Option<Self> {
        let what = || format!("{who:?} with a {pen:?} pen");
        if who == Who::Root && !is_root() {
            skip(&what(), "the tests don't run as root");
            return None;
        }
        let cgroup_parent = delegated::cgroup_parent();
        if pen == Pen::Cgroup && cgroup_parent.is_none() {
            skip(&what(), "no cgroup v2, or no permission to create a cgroup for the test");
            return None;
        }
        // (Without root a scene with a subtree pen has no cgroup: Kennel could write to it too.)
        let cgroup_parent = cgroup_parent.filter(|_| is_root() || pen == Pen::Cgroup);
        let folder =
            tempfile::Builder::new().prefix("kennel-scene-").tempdir().expect("a temp folder");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("chmod");
        let scene = Self { cgroup: make_cgroup(folder.path(), cgroup_parent), folder, who, pen };
        for program in ["kennel", "fake-agent"] {
            scene.link(program);
        }
        for name in ["home", "work"] {
            let path = scene.path(name);
            fs::create_dir(&path).expect("mkdir");
            scene.give(&path);
        }
        if who == Who::Other && pen == Pen::Cgroup {
            scene.delegate();
        }
        Some(scene)
    }

    /// Links a program of this workspace into the scene, so that its processes can be identified by
    /// their program.
    fn link(&self, program: &str) {
        let from = built(program);
        let to = self.path(program);
        if fs::hard_link(&from, &to).is_err() {
            fs::copy(&from, &to).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
        }
    }

    /// Makes the scene's user the owner of a path.
    ///
    /// # Panics
    /// If it can't.
    pub fn give(&self, path: &Path) {
        if self.who == Who::Other && is_root() {
            chown(path, Some(OTHER), Some(OTHER)).expect("chown");
        }
    }

    fn delegate(&self) {
        let cgroup = self.cgroup();
        self.give(&cgroup);
        for file in ["cgroup.procs", "cgroup.threads", "cgroup.subtree_control"] {
            self.give(&cgroup.join(file));
        }
    }

    /// Returns a path in the scene's folder.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the path of the fake agent.
    #[must_use]
    pub fn fake_agent(&self) -> String {
        self.path("fake-agent").to_str().expect("a plain path").to_owned()
    }

    /// Returns the scene's cgroup.
    ///
    /// # Panics
    /// If it has none.
    #[must_use]
    pub fn cgroup(&self) -> PathBuf {
        self.cgroup.clone().expect("a machine with cgroup v2, and root")
    }

    /// Returns whether the scene has a cgroup.
    #[must_use]
    pub fn has_cgroup(&self) -> bool {
        self.cgroup.is_some()
    }

    /// Creates another cgroup in the scene, which its user may write to.
    ///
    /// # Panics
    /// If that fails.
    #[must_use]
    pub fn other_cgroup(&self, name: &str) -> PathBuf {
        let path = self.cgroup().join(name);
        fs::create_dir(&path).expect("mkdir");
        self.give(&path);
        self.give(&path.join("cgroup.procs"));
        path
    }

    /// Returns a command that runs as the scene's user, in the scene's cgroup and work folder.
    #[must_use]
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("/bin/sh");
        // The shell only moves itself, then becomes the program. A cgroup whose children have
        // limits must not contain processes, so Kennel's own are in a leaf.
        command.args(["-c", r#"[ ! -d "$SCENE/kennel-supervisor" ] || SCENE=$SCENE/kennel-supervisor; [ -z "$SCENE" ] || echo $$ > "$SCENE/cgroup.procs" || exit 99; unset SCENE; exec "$@""#]);
        command.arg("sh");
        if self.who == Who::Other && is_root() {
            let (user, group) = (format!("--reuid={OTHER}"), format!("--regid={OTHER}"));
            command.args(["setpriv", &user, &group, "--clear-groups", "--"]);
        }
        command.arg(program);
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.env_clear().env("PATH", path).env("HOME", self.path("home")).env("LANG", "C");
        command.env("SCENE", self.cgroup.clone().unwrap_or_default());
        command.env("FAKE_AGENT_PIDS", self.path("work/pids"));
        command.current_dir(self.path("work")).stdin(Stdio::null());
        command
    }

    /// Returns the command `kennel ARGS…` of the scene's user.
    #[must_use]
    pub fn kennel(&self, args: &[&str]) -> Command {
        let mut command = self.command(&self.path("kennel"));
        command.args(args).env("KENNEL_HOME", self.path("home/kennel"));
        let faults = self.path(faults::FOLDER);
        if faults.exists() {
            command.env("KENNEL_FAULTS", faults);
        }
        command
    }

    /// Returns the command `kennel run --pen KIND FLAGS… -- COMMAND…`.
    #[must_use]
    pub fn run_command(&self, flags: &[&str], argv: &[&str]) -> Command {
        let mut command = self.kennel(&["run", "--pen", self.pen_name()]);
        command.args(flags).arg("--").args(argv);
        command
    }

    /// Starts `kennel run` with this behaviour of the fake agent.
    #[must_use]
    pub fn start(&self, flags: &[&str], behaviour: &[&str]) -> Running {
        let agent = self.fake_agent();
        let argv = [&[agent.as_str()], behaviour].concat();
        Running::start(self.run_command(flags, &argv))
    }

    /// Runs `kennel run` with this behaviour of the fake agent to its end.
    #[must_use]
    pub fn run(&self, flags: &[&str], behaviour: &[&str]) -> Ended {
        self.start(flags, behaviour).wait()
    }

    /// Returns the pids and roles that the fake agent's processes have recorded.
    #[must_use]
    pub fn pids(&self) -> Vec<(i32, String)> {
        let text = fs::read_to_string(self.path("work/pids")).unwrap_or_default();
        text.lines()
            .filter_map(|line| line.split_once(' '))
            .filter_map(|(pid, role)| Some((pid.parse().ok()?, role.to_owned())))
            .collect()
    }

    /// Returns the pid of the first process with this role.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn pid_of(&self, role: &str) -> i32 {
        let pids = self.pids();
        pids.iter()
            .find(|(_, other)| other == role)
            .unwrap_or_else(|| panic!("no {role} in {pids:?}"))
            .0
    }

    /// Returns every process of the scene, by its cgroup and by its programs, except zombies and
    /// Kennel's own yard, spare keepers and daemon.
    #[must_use]
    pub fn processes(&self) -> Vec<Process> {
        let mut found = self.all_processes();
        found.retain(|process| !is_infrastructure(process));
        found
    }

    /// Returns every process of the scene, Kennel's own included.
    #[must_use]
    pub fn all_processes(&self) -> Vec<Process> {
        let mut found = processes_below(self.folder.path());
        if let Some(cgroup) = &self.cgroup {
            for pid in pids_in(cgroup) {
                found.extend(Process::look(pid));
            }
        }
        found.sort_by_key(|process| process.pid);
        found.dedup_by_key(|process| process.pid);
        found.retain(|process| process.state != 'X');
        found
    }

    fn pid_by_name(&self, name: &str) -> Option<i32> {
        let mut all = self.all_processes().into_iter();
        all.find(|process| process.command.starts_with(name) && process.state != 'Z').map(|p| p.pid)
    }

    /// Returns the yard's pid, while there is one.
    #[must_use]
    pub fn yard(&self) -> Option<i32> {
        self.pid_by_name("kennel-yard")
    }

    /// Returns the daemon's pid, while there is one.
    #[must_use]
    pub fn daemon(&self) -> Option<i32> {
        self.pid_by_name("kennel-daemon")
    }

    /// Returns a keeper's pid, while there is one.
    #[must_use]
    pub fn keeper(&self) -> Option<i32> {
        self.pid_by_name("kennel-keeper")
    }

    /// Returns the pids of all keepers.
    #[must_use]
    pub fn keepers(&self) -> Vec<i32> {
        let all = self.all_processes().into_iter();
        all.filter(|p| p.command.starts_with("kennel-keeper")).map(|p| p.pid).collect()
    }

    /// Returns the cgroups of all pens.
    #[must_use]
    pub fn pens(&self) -> Vec<PathBuf> {
        let Some(cgroup) = &self.cgroup else {
            return Vec::new();
        };
        let entries = fs::read_dir(cgroup).expect("the scene's cgroup can be listed");
        let is_pen = |entry: &fs::DirEntry| {
            let name = entry.file_name();
            name.to_string_lossy().starts_with("kennel-") && name != "kennel-supervisor"
        };
        entries.flatten().filter(is_pen).map(|entry| entry.path()).collect()
    }

    /// Checks from outside that no process and no pen is left, right now.
    ///
    /// # Panics
    /// If there is one.
    #[track_caller]
    pub fn assert_nothing_left(&self) {
        // The keeper exits once its outcome is on record, which no command waits for. While it
        // exits it has no command line any more.
        eventually("the keeper exits", || {
            self.keeper().is_none() && self.processes().iter().all(|p| !p.command.is_empty())
        });
        assert_eq!(self.processes(), [], "processes are left");
        assert_eq!(self.pens(), Vec::<PathBuf>::new(), "pens are left");
    }

    /// Checks from outside that soon nothing is left, for ends that no command waits for.
    #[track_caller]
    pub fn assert_nothing_left_soon(&self) {
        // (Yard and daemon continue; `daemon stop` ends them.)
        eventually("no process and no pen is left", || {
            self.processes().is_empty() && self.pens().is_empty()
        });
    }

    /// Kills every process in the scene, as a power failure would.
    ///
    /// # Panics
    /// If they don't end in time.
    pub fn kill_all_processes(&self) {
        if let Some(cgroup) = &self.cgroup {
            eventually("the scene's cgroup is emptied", || {
                fs::write(cgroup.join("cgroup.kill"), "1").ok();
                // `cgroup.kill` does not reach a process whose first thread has ended.
                let left = pids_in(cgroup);
                left.iter().for_each(|pid| kill(*pid));
                left.is_empty()
            });
        }
        // Without a cgroup: yard and daemon first, so that they start no new processes.
        eventually("the scene's processes are ended", || {
            let left = processes_below(self.folder.path());
            let left = || left.iter().filter(|process| process.state != 'Z');
            for process in left().filter(|p| is_infrastructure(p)).chain(left()) {
                kill(process.pid);
            }
            left().next().is_none()
        });
    }

    /// Stops the daemon, and checks from outside that nothing at all is left.
    ///
    /// # Panics
    /// If something is.
    #[track_caller]
    pub fn stop_daemon(&self) {
        let stopped = Running::start(self.kennel(&["daemon", "stop"])).wait();
        assert_eq!(stopped.code, 0, "{}{}", stopped.stdout, stopped.stderr);
        eventually("no process is left", || self.all_processes().is_empty());
        assert_eq!(self.pens(), Vec::<PathBuf>::new(), "pens are left");
    }
}

fn is_infrastructure(process: &Process) -> bool {
    // A spare keeper has no session yet, and is a child of the yard.
    ["kennel-yard", "kennel-daemon", "kennel-spare"]
        .iter()
        .any(|name| process.command.starts_with(name))
}

/// Kills a process that has just been identified as one of the scene.
fn kill(pid: i32) {
    if let Some(pid) = rustix::process::Pid::from_raw(pid) {
        // The process may have ended meanwhile.
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).ok();
    }
}

fn make_cgroup(folder: &Path, cgroup_parent: Option<&Path>) -> Option<PathBuf> {
    let name = folder.file_name()?;
    let path = cgroup_parent?.join(name);
    fs::create_dir(&path).expect("a cgroup can be made");
    Some(path)
}

/// Returns the path of a program that cargo has built: beside the running program, or beside the
/// folder of the running test.
fn built(program: &str) -> PathBuf {
    let own = std::env::current_exe().expect("the path of this program");
    let beside = own.parent().expect("target/PROFILE/PROGRAM").join(program);
    if beside.exists() {
        return beside;
    }
    let folder = own.parent().and_then(Path::parent).expect("target/PROFILE/deps/TEST");
    let path = folder.join(program);
    assert!(path.exists(), "{} is missing: cargo build --workspace --all-targets", path.display());
    path
}

fn pids_in(cgroup: &Path) -> Vec<i32> {
    let procs = fs::read_to_string(cgroup.join("cgroup.procs")).unwrap_or_default();
    let mut pids: Vec<i32> = procs.lines().filter_map(|line| line.parse().ok()).collect();
    for entry in fs::read_dir(cgroup).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            pids.extend(pids_in(&entry.path()));
        }
    }
    pids
}

fn remove_cgroup(cgroup: &Path) {
    for entry in fs::read_dir(cgroup).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            remove_cgroup(&entry.path());
        }
    }
    fs::remove_dir(cgroup).ok();
}

impl Drop for Scene {
    /// Ends what a failed test leaves; a test that passed leaves nothing.
    fn drop(&mut self) {
        self.kill_all_processes();
        if let Some(cgroup) = self.cgroup.take() {
            eventually("the scene's cgroup is removed", || {
                remove_cgroup(&cgroup);
                !cgroup.exists()
            });
        }
    }
}
