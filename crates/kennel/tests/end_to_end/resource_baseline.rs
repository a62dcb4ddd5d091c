//! C5: failed launches leave nothing: descriptors, pens, files and processes return to the
//! baseline.

use std::fs;
use std::path::Path;

use kennel_testing::{Pen, Running, Scene, Who, eventually};

/// How many launches fail.
const MANY: usize = 60;
/// How many at once.
const AT_ONCE: usize = 8;

/// What Kennel holds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) daemon: usize,
    pub(crate) yard: usize,
    pub(crate) pens: usize,
    pub(crate) processes: usize,
    pub(crate) folders: usize,
}

pub(crate) fn held(scene: &Scene) -> Held {
    let count = |path: &Path| fs::read_dir(path).map_or(0, Iterator::count);
    let descriptors =
        |pid: Option<i32>| count(Path::new(&format!("/proc/{}/fd", pid.expect("it runs"))));
    Held {
        daemon: descriptors(scene.daemon()),
        yard: descriptors(scene.yard()),
        pens: scene.pens().len(),
        processes: scene.processes().len(),
        folders: count(&scene.kennel_home().join("sessions")),
    }
}

fn fail_many(scene: &Scene, many: usize) {
    let agent = scene.fake_agent();
    let ways: [(&[&str], &[&str], i32); 4] = [
        (&["-d"], &["/no/such/program"], 204),
        (&["-d", "-t"], &["/no/such/program"], 204),
        (&["-d", "-i", "--cwd", "/no/such/folder"], &[&agent, "sleep"], 204),
        (&["-t"], &["/"], 204),
    ];
    for batch in 0..many / AT_ONCE {
        let runs: Vec<_> = (0..AT_ONCE)
            .map(|place| {
                let (flags, argv, code) = ways[(batch + place) % ways.len()];
                (Running::start(scene.run_command(flags, argv)), code)
            })
            .collect();
        for (run, code) in runs {
            let ended = run.wait();
            assert_eq!(ended.code, code, "{ended:?}");
        }
    }
}

#[test]
fn many_failing_launches_leave_everything_at_the_baseline() {
    for (who, pen) in [(Who::Root, Pen::Cgroup), (Who::Other, Pen::Subtree)] {
        let Some(scene) = Scene::new(who, pen) else { continue };
        // The first ones fill the caches.
        fail_many(&scene, AT_ONCE);
        scene.call_ok(&["prune"]);
        let mut before = held(&scene);
        eventually("it is quiet before", || {
            before = held(&scene);
            before.folders == 0 && before.processes == 0
        });
        fail_many(&scene, MANY);
        scene.call_ok(&["prune"]);
        let mut after = held(&scene);
        eventually(&format!("it is as before: {before:?}"), || {
            after = held(&scene);
            // Threads for blocking work come and go, but hold no descriptors.
            after.daemon <= before.daemon && after.yard <= before.yard
        });
        assert_eq!(Held { daemon: before.daemon, yard: before.yard, ..after }, before);
        assert_eq!(scene.sessions(), Vec::<serde_json::Value>::new());
        scene.stop_daemon();
    }
}

/// How many terminals Kennel's own processes hold: daemon, yard, keepers and spare keepers.
fn terminals(scene: &Scene) -> usize {
    let is_terminal = |to: &Path| to.starts_with("/dev/pts") || to.ends_with("ptmx");
    let held_by = |pid: i32| {
        let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        entries.filter(|fd| fs::read_link(fd.path()).is_ok_and(|to| is_terminal(&to))).count()
    };
    let own = scene.all_processes().into_iter();
    let own = own.filter(|process| process.command.starts_with("kennel-"));
    own.map(|process| held_by(process.pid)).sum()
}

/// Sessions on terminals that end, crash or are stopped give their terminals back, also in keepers
/// that are reused.
#[test]
fn ended_sessions_hold_no_terminal() {
    for (who, pen) in [(Who::Root, Pen::Cgroup), (Who::Other, Pen::Subtree)] {
        let Some(scene) = Scene::new(who, pen) else { continue };
        let agent = scene.fake_agent();
        let live = scene.run_command(&["-d", "-t", "--name", "live"], &[&agent, "sleep"]);
        assert_eq!(Running::start(live).wait().code, 0);
        eventually("a live session holds its terminal", || terminals(&scene) > 0);
        let ends: [(&[&str], i32); 3] =
            [(&["true"], 0), (&["false"], 0), (&["/no/such/program"], 204)];
        for round in 0..30 {
            let flags = ["-d", "-t", "--name", &format!("ended-{round}")];
            let (argv, code) = ends[round % ends.len()];
            assert_eq!(Running::start(scene.run_command(&flags, argv)).wait().code, code);
        }
        scene.call_ok(&["stop", "live"]);
        eventually("no process of Kennel holds a terminal", || terminals(&scene) == 0);
        scene.stop_daemon();
    }
}
