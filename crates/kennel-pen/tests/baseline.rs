//! C5: a thousand failed launches and some hundred dropped ones leave no descriptor, child or pen.
//! This test needs its own process, since it counts its own descriptors.

use std::fs;
use std::time::Instant;

use kennel_pen::PenKind;
use kennel_pen::supervisor::{PenLaunch, SupervisorProgram, reap_supervisors};
use kennel_pen::{Command, HomeId, PenName};
use kennel_testing::{cgroups_named, eventually, may_make_cgroups, soon};

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").expect("our own descriptors").count()
}

fn children() -> usize {
    let tasks = fs::read_dir("/proc/self/task").expect("our own threads").flatten();
    let lists =
        tasks.map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default());
    lists.map(|list| list.split_ascii_whitespace().count()).sum()
}

fn pens(home: &HomeId) -> usize {
    cgroups_named(home.as_str()).len()
}

#[test]
fn a_thousand_failing_launches_leave_everything_at_the_baseline() {
    let home = HomeId::random().expect("random bytes");
    let program = SupervisorProgram::at(env!("CARGO_BIN_EXE_kennel-supervisor"));
    let kinds: &[PenKind] =
        if may_make_cgroups() { &[PenKind::Cgroup, PenKind::Subtree] } else { &[PenKind::Subtree] };
    let order = |kind, program: &str| {
        let name = PenName::random(home.clone()).expect("random bytes");
        let mut launch = PenLaunch::new(name, Command::new(program));
        launch.kind = kind;
        launch
    };
    let (descriptors_before, children_before) = (descriptors(), children());
    for round in 0..1000 {
        let kind = kinds[round % kinds.len()];
        let outcome =
            program.launch(order(kind, "/no/such/program"), soon()).and_then(|g| g.open(soon()));
        assert!(outcome.is_err());
        if round % 5 == 0 {
            drop(program.launch(order(kind, "/bin/true"), soon()).expect("launched"));
        }
        if round % 10 == 0 {
            let held =
                program.launch(order(kind, "/bin/true"), soon()).and_then(|g| g.open(soon()));
            let gone = held.expect("runs").wait_gone(Instant::now() + kennel_testing::DEADLINE);
            assert!(gone.expect("answered").is_some());
        }
    }
    eventually("all supervisors have exited", || reap_supervisors() == 0);
    assert_eq!(descriptors(), descriptors_before, "descriptors");
    assert_eq!(children(), children_before, "children and zombies");
    assert_eq!(pens(&home), 0, "pens");
}
