//! Limits on real pens, where the kernel has the controllers. Run this as root, or as a user in a
//! cgroup that was delegated to that user:
//!
//! ```text
//! systemd-run --user --scope -p Delegate=yes target/debug/deps/limits-…
//! ```
//! (not `cargo test`: cargo would be in that cgroup too, and only Kennel's processes may be in it).
//! As root it uses its own cgroup if limits are possible there, for instance in such a scope.
//! Otherwise it creates one cgroup for root and one for another user, and uses both (not where
//! systemd runs, which removes a scope when its last process leaves). It needs its own process with
//! one thread, since all its children belong to its pen.

use std::fs;
use std::io::Read;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::time::Instant;

use kennel_pen::{
    Command, Controller, CreateError, EndOutcome, HomeId, HostSupport, Pen, PenKind, PenLimitError,
    PenLimits, PenName, Status, StdStream, StdStreams, cgroup_mount,
};
use kennel_testing::{eventually, is_root, skip, soon};

/// The id of another user, which need not exist.
const OTHER: u32 = 65_534;
/// The variable that is set in the process that runs in a new cgroup.
const SETTLED: &str = "KENNEL_LIMITS_TEST_SETTLED";

type Case = (&'static str, fn(&HostSupport));

const CASES: &[Case] = &[
    ("limits are set before a process is in the pen", set_before_first_process),
    ("an OOM kill is reported as such", out_of_memory),
    ("an OOM kill of a tool is not the agent's", a_tool_out_of_memory),
    ("no more processes than allowed", too_many_processes),
    ("no more cpu than allowed", too_much_cpu),
    ("Kennel's own processes were moved to a leaf", moved_to_leaf),
];

fn main() -> ExitCode {
    let args = std::env::args().skip(1).collect::<Vec<_>>();
    if args.iter().any(|arg| arg == "--list") {
        if !args.iter().any(|arg| arg == "--ignored") {
            println!("limits_of_pens: test");
        }
        return ExitCode::SUCCESS;
    }
    let settled = std::env::var_os(SETTLED).is_some();
    if settled {
        wait_for_start();
    }
    refusals();
    if settled || !is_root() || are_offered() {
        return try_all();
    }
    match prepare_hierarchy() {
        Ok(mount) => in_own_cgroups(&mount),
        Err(why) => {
            skip("limits of pens", &why);
            ExitCode::SUCCESS
        }
    }
}

/// Returns whether all limits are possible here.
fn are_offered() -> bool {
    HostSupport::survey(&home()).limits().iter().all(|offer| offer.why_not.is_none())
}

/// A limit that is not possible is refused with a reason, or reported.
fn refusals() {
    let wanted = PenLimits { pids: Some(64), ..PenLimits::default() };
    let subtree = |limits: &PenLimits| {
        Pen::create_limited(&HostSupport::without_cgroup(), name(), PenKind::Subtree, limits)
    };
    let refused = subtree(&wanted);
    let Err(CreateError::Limit(PenLimitError::WithoutCgroup { controller })) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(controller, Controller::Pids);
    let (pen, unmet) = subtree(&PenLimits { best_effort: true, ..wanted }).expect("a pen");
    assert_eq!(unmet.len(), 1, "{unmet:?}");
    pen.remove().expect("the pen is empty");

    let support = HostSupport::survey(&home());
    let Ok(base) = support.cgroup() else { return };
    let before = own_entries(base.path());
    for offer in support.limits() {
        let Some(why) = offer.why_not else { continue };
        let limits = match offer.controller {
            Controller::Memory => PenLimits { memory: Some(1 << 30), ..PenLimits::default() },
            Controller::Pids => wanted,
            Controller::Cpu => PenLimits { cpu: Some(500), ..PenLimits::default() },
        };
        let refused = Pen::create_limited(&support, name(), PenKind::Auto, &limits);
        let Err(CreateError::Limit(error)) = refused else { panic!("{refused:?}") };
        assert_eq!(error.to_string(), why.to_string(), "the same reason as reported before");
        println!("refused: {error}");
        println!("test a limit on {} is refused ... ok", offer.controller);
        let limits = PenLimits { best_effort: true, ..limits };
        let made = Pen::create_limited(&support, name(), PenKind::Auto, &limits);
        let (pen, unmet) = made.expect("a pen without the limit");
        assert_eq!(unmet.len(), 1, "{unmet:?}");
        pen.remove().expect("the pen is empty");
    }
    assert_eq!(own_entries(base.path()), before, "nothing is left behind");
}

/// Returns the folders that these tests create in a cgroup. Other processes have other homes.
fn own_entries(folder: &Path) -> Vec<PathBuf> {
    let is_own = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.contains(home().as_str()) || name == "kennel-supervisor"
    };
    let all = fs::read_dir(folder).expect("listed").map(|e| e.expect("read").path());
    let mut own: Vec<_> = all.filter(is_own).collect();
    own.sort();
    own
}

// The cgroups of the tests.

/// Returns the mount point, if the controllers can be enabled below it.
fn prepare_hierarchy() -> Result<PathBuf, String> {
    let mount = cgroup_mount().ok_or("no cgroup v2 file system is mounted")?;
    let list = fs::read_to_string(mount.join("cgroup.controllers")).map_err(|e| e.to_string())?;
    for controller in Controller::ALL {
        if !list.split_ascii_whitespace().any(|word| word == controller.name()) {
            return Err(format!(
                "cgroup v2 has no {controller} controller here (it has: {})",
                list.trim()
            ));
        }
        fs::write(mount.join("cgroup.subtree_control"), format!("+{controller}"))
            .map_err(|error| format!("the root does not hand down {controller}: {error}"))?;
    }
    Ok(mount)
}

fn in_own_cgroups(mount: &Path) -> ExitCode {
    let before = own_cgroup(mount);
    let mut failed = false;
    for (user_name, user) in [("root", 0), ("other", OTHER)] {
        let folder = mount.join(format!("kennel-limits-{user_name}-{}", std::process::id()));
        fs::create_dir(&folder).expect("mkdir");
        for file in ["", "cgroup.procs", "cgroup.threads", "cgroup.subtree_control"] {
            chown(folder.join(file), Some(user), Some(user)).expect("chown");
        }
        // The child starts there. Then this process leaves the cgroup, and the child may begin.
        enter(&folder);
        let program = readable_copy(user);
        let mut command = std::process::Command::new(&program);
        command.env(SETTLED, user_name).uid(user).gid(user).stdin(Stdio::piped());
        let mut child = command.spawn().expect("started again");
        enter(&before);
        drop(child.stdin.take());
        let status = child.wait().expect("waited for");
        println!("as {user_name}: {status}");
        failed |= !status.success();
        fs::remove_file(program).expect("removed");
        fs::remove_dir(folder.join("kennel-supervisor")).ok();
        fs::remove_dir(&folder).expect("nothing is left in it");
    }
    ExitCode::from(u8::from(failed))
}

/// Returns a copy of this program that every user can execute.
fn readable_copy(user: u32) -> PathBuf {
    let copy = std::env::temp_dir().join(format!("kennel-limits-{user}-{}", std::process::id()));
    fs::copy(std::env::current_exe().expect("our path"), &copy).expect("copied");
    copy
}

fn own_cgroup(mount: &Path) -> PathBuf {
    let text = fs::read_to_string("/proc/self/cgroup").expect("read");
    let own = text.lines().find_map(|line| line.strip_prefix("0::/")).expect("in cgroup v2");
    mount.join(own)
}

fn enter(folder: &Path) {
    fs::write(folder.join("cgroup.procs"), std::process::id().to_string()).expect("entered");
}

fn wait_for_start() {
    let mut word = Vec::new();
    std::io::stdin().read_to_end(&mut word).expect("the end of input");
}

fn try_all() -> ExitCode {
    let support = HostSupport::survey(&home());
    for offer in support.limits() {
        if let Some(why) = offer.why_not {
            if std::env::var_os(SETTLED).is_some() {
                println!("{why}");
                return ExitCode::FAILURE;
            }
            skip("limits of pens", &why.to_string());
            return ExitCode::SUCCESS;
        }
    }
    for (name, case) in CASES {
        case(&support);
        println!("test {name} ... ok");
    }
    ExitCode::SUCCESS
}

// The tests.

fn home() -> HomeId {
    HomeId::parse("0000000001111e57").expect("a valid id")
}

fn name() -> PenName {
    PenName::random(home()).expect("random bytes")
}

fn limited(support: &HostSupport, limits: PenLimits) -> Pen {
    let (pen, unmet) =
        Pen::create_limited(support, name(), PenKind::Cgroup, &limits).expect("a pen with limits");
    assert!(unmet.is_empty(), "{unmet:?}");
    pen
}

fn shell(script: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]);
    command.envs([("PATH", "/usr/bin:/bin")]);
    command
}

fn set_before_first_process(support: &HostSupport) {
    let limits =
        PenLimits { memory: Some(64 << 20), pids: Some(32), cpu: Some(500), best_effort: false };
    let pen = limited(support, limits);
    let folder = pen.cgroup_path().expect("a cgroup").to_owned();
    let text = |file: &str| fs::read_to_string(folder.join(file)).expect(file).trim().to_owned();
    assert_eq!(text("cgroup.procs"), "");
    assert_eq!(text("memory.max"), (64 << 20).to_string());
    assert_eq!(text("memory.oom.group"), "0");
    assert_eq!(text("pids.max"), "32");
    assert_eq!(text("cpu.max"), "50000 100000");
    if folder.join("memory.swap.max").exists() {
        assert_eq!(text("memory.swap.max"), "0");
    }
    pen.remove().expect("the pen is empty");
}

/// A shell script that fills the memory.
const FILL_MEMORY: &str = "x=xxxxxxxxxxxxxxxx; while :; do x=$x$x; done";

fn out_of_memory(support: &HostSupport) {
    let mut pen = limited(support, PenLimits { memory: Some(32 << 20), ..PenLimits::default() });
    pen.launch(shell(FILL_MEMORY)).expect("launched").open(soon()).expect("opened");
    let status = pen.wait_agent(soon()).expect("no error");
    assert_eq!(status, Some(Status::Signal { signal: 9, core: false, oom: true }));
    assert!(pen.wait_empty(soon()).expect("no error"));
    assert_eq!(pen.oom_kills().expect("counted"), Some(1));
    pen.remove().expect("removed");
}

fn a_tool_out_of_memory(support: &HostSupport) {
    let limits = PenLimits { memory: Some(32 << 20), ..PenLimits::default() };
    let mut pen = limited(support, limits);
    let script = format!("sh -c '{FILL_MEMORY}'; exit 7");
    pen.launch(shell(&script)).expect("launched").open(soon()).expect("opened");
    assert_eq!(
        pen.wait_agent(soon()).expect("no error"),
        Some(Status::Code(7)),
        "the agent goes on"
    );
    assert!(pen.wait_empty(soon()).expect("no error"));
    pen.remove().expect("removed");
    // A KILL by Kennel is not an OOM kill, even after an earlier OOM kill.
    let mut pen = limited(support, limits);
    let script = format!("sh -c '{FILL_MEMORY}'; sleep 1000");
    pen.launch(shell(&script)).expect("launched").open(soon()).expect("opened");
    eventually("the tool is gone", || pen.oom_kills().expect("counted") == Some(1));
    assert_eq!(pen.end(soon()).expect("ended"), EndOutcome::Empty);
    let killed = Status::Signal { signal: 9, core: false, oom: false };
    assert_eq!(pen.status(), Some(&killed));
    pen.remove().expect("removed");
}

fn too_many_processes(support: &HostSupport) {
    let mut pen = limited(support, PenLimits { pids: Some(8), ..PenLimits::default() });
    let mut command =
        shell("for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 1000 & done; sleep 1000");
    let stderr = StdStream::Null;
    command.streams(StdStreams::Each { stdin: StdStream::Null, stdout: StdStream::Null, stderr });
    pen.launch(command).expect("launched").open(soon()).expect("opened");
    let folder = pen.cgroup_path().expect("a cgroup").to_owned();
    let refused = || {
        let events = fs::read_to_string(folder.join("pids.events")).expect("read");
        events.lines().any(|line| line.starts_with("max ") && line != "max 0")
    };
    eventually("a fork is refused", refused);
    assert!(pen.usage().expect("counted").processes <= 8);
    assert_eq!(pen.end(soon()).expect("ended"), EndOutcome::Empty);
    pen.remove().expect("removed");
}

fn too_much_cpu(support: &HostSupport) {
    let mut pen = limited(support, PenLimits { cpu: Some(100), ..PenLimits::default() });
    pen.launch(shell("while :; do :; done")).expect("launched").open(soon()).expect("opened");
    let begun = Instant::now();
    let folder = pen.cgroup_path().expect("a cgroup").to_owned();
    let throttled = || {
        let stat = fs::read_to_string(folder.join("cpu.stat")).expect("read");
        let line = stat.lines().find_map(|line| line.strip_prefix("nr_throttled "));
        line.and_then(|n| n.parse::<u64>().ok()).expect("a count")
    };
    // The limit is a tenth of a core. On a busy machine a process may exceed it for a moment.
    // Without a limit it would use a whole core.
    let used = || pen.usage().expect("counted").cpu;
    eventually("it is throttled", || throttled() >= 10 && used() * 5 <= begun.elapsed());
    assert_eq!(pen.end(soon()).expect("ended"), EndOutcome::Empty);
    pen.remove().expect("removed");
}

fn moved_to_leaf(support: &HostSupport) {
    let base = support.cgroup().expect("a cgroup").path();
    let inside = fs::read_to_string(base.join("cgroup.procs")).expect("read");
    assert_eq!(inside, "");
    let leaf = fs::read_to_string(base.join("kennel-supervisor/cgroup.procs")).expect("read");
    assert!(leaf.lines().any(|pid| pid == std::process::id().to_string()), "{leaf}");
    let again = HostSupport::survey(&home());
    assert_eq!(again.cgroup().expect("a cgroup").path(), base, "found from inside the leaf");
}
