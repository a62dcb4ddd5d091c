//! Pens in this process itself. It needs its own process with one thread, since all its children
//! belong to its pen.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kennel_pen::{
    Command, CreateError, EndOutcome, ExecError, HomeId, HostSupport, LaunchError, Pen, PenKind,
    PenName, Status, StdStream, StdStreams,
};
use kennel_testing::{alive, eventually, soon};

type Case = (&'static str, fn(&HostSupport, PenKind));

fn main() {
    // The arguments of a test runner for a program with its own `main`.
    let args = std::env::args().skip(1).collect::<Vec<_>>();
    if args.iter().any(|arg| arg == "--list") {
        if !args.iter().any(|arg| arg == "--ignored") {
            println!("pens_in_their_owners_process: test");
        }
        return;
    }
    let cases: &[Case] = &[
        ("a status is the agent's own", status_is_the_agents_own),
        ("a process has one pen at a time", one_pen_at_a_time),
        ("a dropped pen kills its processes, and the next one waits for them", dropped_pen),
        ("a gated process that is dropped is gone", dropped_gate),
        ("a failed exec leaves the pen usable", failed_exec),
        ("every wait has a deadline", deadlines),
        ("a pen with processes in it is not removed", remove_occupied),
        ("ending a wide and a deep tree", end_trees),
        ("a sample shows processes that lived between two samples", activity_samples),
    ];
    let support = HostSupport::survey(&home());
    let mut kinds = vec![PenKind::Subtree];
    match support.cgroup() {
        Ok(_) => kinds.push(PenKind::Cgroup),
        Err(why) => {
            kennel_testing::skip("pens in their owner's process, in a cgroup", &why.to_string())
        }
    }
    for (name, case) in cases {
        for kind in &kinds {
            case(&support, *kind);
            assert_eq!(children(), 0, "children are left after: {name}");
            assert_eq!(pens(&support), Vec::<PathBuf>::new(), "pens are left after: {name}");
            println!("test {name}, {kind:?} ... ok");
        }
    }
}

fn home() -> HomeId {
    HomeId::parse("00000000000e57ed").expect("a valid id")
}

fn create(support: &HostSupport, kind: PenKind) -> Pen {
    Pen::create(support, PenName::random(home()).expect("random bytes"), kind).expect("a pen")
}

fn children() -> usize {
    let list = std::fs::read_to_string("/proc/thread-self/children").expect("our own children");
    list.split_ascii_whitespace().count()
}

fn pens(support: &HostSupport) -> Vec<PathBuf> {
    let Ok(base) = support.cgroup() else {
        return Vec::new();
    };
    let entries = std::fs::read_dir(base.path()).expect("listed").flatten();
    entries.map(|e| e.path()).filter(|p| p.to_string_lossy().contains(home().as_str())).collect()
}

fn agent(behaviour: &[&str]) -> Command {
    let test = std::env::current_exe().expect("our own path");
    let folder = test.parent().and_then(Path::parent).expect("target/PROFILE/deps/TEST");
    let mut command = Command::new(folder.join("fake-agent"));
    command.args(behaviour);
    command
}

fn run(pen: &mut Pen, command: Command) {
    pen.launch(command).expect("launched").open(soon()).expect("opened");
}

fn status_is_the_agents_own(support: &HostSupport, kind: PenKind) {
    for (behaviour, expected) in [
        (["exit", "0"], Status::Code(0)),
        (["exit", "200"], Status::Code(200)),
        (["signal", "15"], Status::Signal { signal: 15, core: false, oom: false }),
        (["signal", "9"], Status::Signal { signal: 9, core: false, oom: false }),
    ] {
        let mut pen = create(support, kind);
        run(&mut pen, agent(&behaviour));
        assert_eq!(pen.wait_agent(soon()).expect("no error"), Some(expected));
        assert!(pen.wait_empty(soon()).expect("no error"));
        pen.remove().expect("removed");
    }
}

fn one_pen_at_a_time(support: &HostSupport, kind: PenKind) {
    let pen = create(support, kind);
    let name = PenName::random(home()).expect("random bytes");
    let second = Pen::create(support, name, kind);
    assert!(matches!(second, Err(CreateError::Occupied)), "{second:?}");
    pen.remove().expect("removed");
    create(support, kind).remove().expect("removed");
}

fn dropped_pen(support: &HostSupport, kind: PenKind) {
    let mut pen = create(support, kind);
    run(&mut pen, agent(&["sleep"]));
    let identity = pen.agent().expect("an agent").clone();
    drop(pen);
    // It was killed without waiting. The next pen reaps it, or reports that it can't yet.
    eventually("the next pen can be created", || {
        let name = PenName::random(home()).expect("random bytes");
        match Pen::create(support, name, kind) {
            Ok(pen) => pen.remove().map(|()| true).expect("removed"),
            Err(CreateError::Occupied) => false,
            Err(error) => panic!("{error}"),
        }
    });
    assert!(!identity.exists().expect("its state is known"));
}

fn dropped_gate(support: &HostSupport, kind: PenKind) {
    let mut pen = create(support, kind);
    let gated = pen.launch(agent(&["sleep"])).expect("launched");
    let identity = gated.identity().clone();
    assert!(alive(identity.pid));
    drop(gated);
    assert!(!identity.exists().expect("its state is known"), "it is reaped, not only killed");
    pen.remove().expect("the pen is empty");
}

fn failed_exec(support: &HostSupport, kind: PenKind) {
    let mut pen = create(support, kind);
    let outcome = pen.launch(Command::new("/no/such/program")).expect("launched").open(soon());
    let Err(LaunchError::Exec(error @ ExecError::File { .. })) = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(error.to_string(), "/no/such/program: not found");
    assert_eq!(children(), 0);
    run(&mut pen, agent(&["exit", "3"]));
    assert_eq!(pen.wait_agent(soon()).expect("no error"), Some(Status::Code(3)));
    assert!(pen.wait_empty(soon()).expect("no error"));
    pen.remove().expect("removed");
}

fn deadlines(support: &HostSupport, kind: PenKind) {
    let mut pen = create(support, kind);
    let gated = pen.launch(agent(&["ignore-term"])).expect("launched");
    let pid = gated.identity().pid;
    gated.open(soon()).expect("opened");
    eventually("it handles TERM", || handles_term(pid));
    let shortly = || Instant::now() + Duration::from_millis(20);
    assert_eq!(pen.wait_agent(shortly()).expect("no error"), None);
    assert!(!pen.wait_empty(shortly()).expect("no error"));
    pen.signal(rustix::process::Signal::TERM).expect("sent");
    assert_eq!(pen.wait_agent(shortly()).expect("no error"), None);
    assert_eq!(pen.end(soon()).expect("ended"), EndOutcome::Empty);
    pen.remove().expect("removed");
}

fn handles_term(pid: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("its status");
    ["SigBlk:", "SigIgn:", "SigCgt:"].into_iter().any(|set| {
        let mask = status.lines().find_map(|line| line.strip_prefix(set)).expect("a mask");
        let mask = u64::from_str_radix(mask.trim(), 16).expect("a number");
        mask & (1 << (rustix::process::Signal::TERM.as_raw() - 1)) != 0
    })
}

fn remove_occupied(support: &HostSupport, kind: PenKind) {
    let mut pen = create(support, kind);
    run(&mut pen, agent(&["sleep"]));
    let mut pen = pen.remove().expect_err("the agent is in it").pen;
    assert_eq!(pen.processes().expect("listed").len(), 1, "the pen is still owned");
    assert_eq!(pen.end(soon()).expect("ended"), EndOutcome::Empty);
    pen.remove().expect("removed");
}

fn end_trees(support: &HostSupport, kind: PenKind) {
    for shape in [["setsid", "150"], ["chain-setsid", "150"]] {
        let mut pen = create(support, kind);
        run(&mut pen, agent(&shape));
        eventually("all are up", || pen.processes().expect("listed").len() == 151);
        assert_eq!(pen.usage().expect("counted").processes, 151);
        assert_eq!(pen.end(soon()).expect("ended"), EndOutcome::Empty);
        assert_eq!(children(), 0);
        pen.remove().expect("removed");
    }
}

fn activity_samples(support: &HostSupport, kind: PenKind) {
    let mut pen = create(support, kind);
    let mut command = Command::new("/bin/sh");
    let tool = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
    command.args(["-c", &format!("echo up; read x; sh -c '{tool}'; echo up; read x")]);
    let (stdin, stdout, stderr) = (StdStream::Pipe, StdStream::Pipe, StdStream::Null);
    command.streams(StdStreams::Each { stdin, stdout, stderr });
    let ends = pen.launch(command).expect("launched").open(soon()).expect("opened");
    let mut stdin = File::from(ends.stdin.expect("a pipe"));
    let mut lines = BufReader::new(File::from(ends.stdout.expect("a pipe"))).lines();
    let mut sample_at_rest = |pen: &Pen| {
        lines.next().expect("a line").expect("read");
        let mut sample = pen.activity().expect("seen");
        eventually("it is idle", || {
            let before = std::mem::replace(&mut sample, pen.activity().expect("seen"));
            before == sample && !sample.works
        });
        sample
    };
    let before = sample_at_rest(&pen);
    stdin.write_all(b"\n").expect("written");
    let after = sample_at_rest(&pen);
    assert_eq!(after.generation.processes, before.generation.processes, "it has exited");
    assert_eq!(after.generation.youngest, before.generation.youngest);
    assert_ne!(after.generation, before.generation, "but it has run");
    assert!(after.cpu > before.cpu, "and worked: {before:?} {after:?}");
    assert_eq!(pen.end(soon()).expect("ended"), EndOutcome::Empty);
    pen.remove().expect("removed");
}
