//! Limits on real pens, where the kernel's controllers are there. Run it as root, or as a user from inside of a
//! cgroup that was delegated to them:
//!
//! ```text
//! systemd-run --user --scope -p Delegate=yes target/debug/deps/limits-…
//! ```
//! (not `cargo test`: cargo would be in that cgroup too, and it must have nobody in it but Kennel's).
//! Root tries them where it is, if limits can be had there: in a scope of the same kind. Else it makes a cgroup of its
//! own for it, and another one that belongs to another user, and tries both. (Not where systemd runs: it removes a scope
//! that we leave.) A process of its own, with one thread: all its children belong to the pen that it has.

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

/// Another user, who need not have a name.
const OTHER: u32 = 65_534;
/// How this program knows that it is in the cgroup that it shall try.
const SETTLED: &str = "KENNEL_LIMITS_TEST_SETTLED";

type Case = (&'static str, fn(&HostSupport));

const CASES: &[Case] = &[
    ("limits are set before anybody is in the pen", set_before_anybody),
    ("too much memory is told as such", out_of_memory),
    ("an OOM kill of a tool is not the agent's", a_tool_out_of_memory),
    ("no more processes than allowed", too_many_processes),
    ("no more cpu than allowed", too_much_cpu),
    ("our own processes have stepped aside", stepped_aside),
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
        wait_for_word();
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

/// Whether all of them can be had where we are.
fn are_offered() -> bool {
    HostSupport::survey(&home()).limits().iter().all(|offer| offer.why_not.is_none())
}

/// What can't be had is refused with a reason, or told, everywhere.
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
    pen.remove().expect("nobody was in it");

    let ground = HostSupport::survey(&home());
    let Ok(base) = ground.cgroup() else { return };
    let before = own_entries(base.path());
    for offer in ground.limits() {
        let Some(why) = offer.why_not else { continue };
        let limits = match offer.controller {
            Controller::Memory => PenLimits { memory: Some(1 << 30), ..PenLimits::default() },
            Controller::Pids => wanted,
            Controller::Cpu => PenLimits { cpu: Some(500), ..PenLimits::default() },
        };
        let refused = Pen::create_limited(&ground, name(), PenKind::Auto, &limits);
        let Err(CreateError::Limit(error)) = refused else { panic!("{refused:?}") };
        assert_eq!(error.to_string(), why.to_string(), "what was told beforehand");
        println!("refused: {error}");
        println!("test a limit on {} is refused ... ok", offer.controller);
        let limits = PenLimits { best_effort: true, ..limits };
        let made = Pen::create_limited(&ground, name(), PenKind::Auto, &limits);
        let (pen, unmet) = made.expect("a pen without the limit");
        assert_eq!(unmet.len(), 1, "{unmet:?}");
        pen.remove().expect("nobody was in it");
    }
    assert_eq!(own_entries(base.path()), before, "nothing is left behind");
}

/// What tests like this one make in a cgroup; others, who come and go meanwhile, have homes of their own.
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

// The cgroups that this is tried in.

/// The mount, if the controllers can be handed down from there.
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
    for (who, user) in [("root", 0), ("other", OTHER)] {
        let folder = mount.join(format!("kennel-limits-{who}-{}", std::process::id()));
        fs::create_dir(&folder).expect("mkdir");
        for file in ["", "cgroup.procs", "cgroup.threads", "cgroup.subtree_control"] {
            chown(folder.join(file), Some(user), Some(user)).expect("chown");
        }
        // The child is born there; then we leave, and it may begin.
        enter(&folder);
        let program = readable_copy(user);
        let mut command = std::process::Command::new(&program);
        command.env(SETTLED, who).uid(user).gid(user).stdin(Stdio::piped());
        let mut child = command.spawn().expect("started again");
        enter(&before);
        drop(child.stdin.take());
        let status = child.wait().expect("waited for");
        println!("as {who}: {status}");
        failed |= !status.success();
        fs::remove_file(program).expect("removed");
        fs::remove_dir(folder.join("kennel-supervisor")).ok();
        fs::remove_dir(&folder).expect("nothing is left in it");
    }
    ExitCode::from(u8::from(failed))
}

/// Where everybody can start it from.
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

fn wait_for_word() {
    let mut word = Vec::new();
    std::io::stdin().read_to_end(&mut word).expect("the end of input");
}

fn try_all() -> ExitCode {
    let ground = HostSupport::survey(&home());
    for offer in ground.limits() {
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
        case(&ground);
        println!("test {name} ... ok");
    }
    ExitCode::SUCCESS
}

// The cases.

fn home() -> HomeId {
    HomeId::parse("0000000001111e57").expect("a valid id")
}

fn name() -> PenName {
    PenName::random(home()).expect("random bytes")
}

fn limited(ground: &HostSupport, limits: PenLimits) -> Pen {
    let (pen, unmet) =
        Pen::create_limited(ground, name(), PenKind::Cgroup, &limits).expect("a pen with limits");
    assert!(unmet.is_empty(), "{unmet:?}");
    pen
}

fn shell(script: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]);
    command.envs([("PATH", "/usr/bin:/bin")]);
    command
}

fn set_before_anybody(ground: &HostSupport) {
    let limits =
        PenLimits { memory: Some(64 << 20), pids: Some(32), cpu: Some(500), best_effort: false };
    let pen = limited(ground, limits);
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
    pen.remove().expect("nobody is in it");
}

/// A shell that fills its memory without end.
const GLUTTON: &str = "x=xxxxxxxxxxxxxxxx; while :; do x=$x$x; done";

fn out_of_memory(ground: &HostSupport) {
    let mut pen = limited(ground, PenLimits { memory: Some(32 << 20), ..PenLimits::default() });
    pen.launch(shell(GLUTTON)).expect("launched").open(soon()).expect("opened");
    let status = pen.wait_agent(soon()).expect("asked");
    assert_eq!(status, Some(Status::Signal { signal: 9, core: false, oom: true }));
    assert!(pen.wait_empty(soon()).expect("asked"));
    assert_eq!(pen.oom_kills().expect("counted"), Some(1));
    pen.remove().expect("removed");
}

fn a_tool_out_of_memory(ground: &HostSupport) {
    let limits = PenLimits { memory: Some(32 << 20), ..PenLimits::default() };
    let mut pen = limited(ground, limits);
    let script = format!("sh -c '{GLUTTON}'; exit 7");
    pen.launch(shell(&script)).expect("launched").open(soon()).expect("opened");
    assert_eq!(pen.wait_agent(soon()).expect("asked"), Some(Status::Code(7)), "it lives on");
    assert!(pen.wait_empty(soon()).expect("asked"));
    pen.remove().expect("removed");
    // A KILL of ours is not the OOM killer's, even if that was here before.
    let mut pen = limited(ground, limits);
    let script = format!("sh -c '{GLUTTON}'; sleep 1000");
    pen.launch(shell(&script)).expect("launched").open(soon()).expect("opened");
    eventually("the tool is gone", || pen.oom_kills().expect("counted") == Some(1));
    assert_eq!(pen.end(soon()).expect("ended"), EndOutcome::Empty);
    let killed = Status::Signal { signal: 9, core: false, oom: false };
    assert_eq!(pen.status(), Some(&killed));
    pen.remove().expect("removed");
}

fn too_many_processes(ground: &HostSupport) {
    let mut pen = limited(ground, PenLimits { pids: Some(8), ..PenLimits::default() });
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

fn too_much_cpu(ground: &HostSupport) {
    let mut pen = limited(ground, PenLimits { cpu: Some(100), ..PenLimits::default() });
    pen.launch(shell("while :; do :; done")).expect("launched").open(soon()).expect("opened");
    let begun = Instant::now();
    let folder = pen.cgroup_path().expect("a cgroup").to_owned();
    let throttled = || {
        let stat = fs::read_to_string(folder.join("cpu.stat")).expect("read");
        let line = stat.lines().find_map(|line| line.strip_prefix("nr_throttled "));
        line.and_then(|n| n.parse::<u64>().ok()).expect("a count")
    };
    // It is given a tenth of a core. What it takes beyond, on a machine whose own clock is late, it has to pay back;
    // without a limit it would have all of one.
    let used = || pen.usage().expect("counted").cpu;
    eventually("it is held back", || throttled() >= 10 && used() * 5 <= begun.elapsed());
    assert_eq!(pen.end(soon()).expect("ended"), EndOutcome::Empty);
    pen.remove().expect("removed");
}

fn stepped_aside(ground: &HostSupport) {
    let base = ground.cgroup().expect("a cgroup").path();
    let inside = fs::read_to_string(base.join("cgroup.procs")).expect("read");
    assert_eq!(inside, "");
    let leaf = fs::read_to_string(base.join("kennel-supervisor/cgroup.procs")).expect("read");
    assert!(leaf.lines().any(|pid| pid == std::process::id().to_string()), "{leaf}");
    let again = HostSupport::survey(&home());
    assert_eq!(again.cgroup().expect("a cgroup").path(), base, "found from inside of the leaf");
}
