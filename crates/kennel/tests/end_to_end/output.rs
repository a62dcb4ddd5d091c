//! Output never blocks the agent, is bounded, and is never repeated.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Stdio;

use kennel_testing::{Pen, Running, Scene, Who, eventually, everywhere, signal};

use crate::crash_case::Part;
use crate::journal::Journal;

const MEGABYTE: u64 = 1 << 20;

/// The private memory of this process, in KiB.
fn private_dirty(pid: i32) -> Option<u64> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = rollup.lines().find(|line| line.starts_with("Private_Dirty:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn on_disk(folder: &Path) -> u64 {
    let files = fs::read_dir(folder.join("journal")).into_iter().flatten().flatten();
    files.filter_map(|file| Some(file.metadata().ok()?.len())).sum()
}

/// O1: no client reads.
#[test]
fn an_unread_flood_is_bounded_and_never_blocks() {
    let Some(scene) = Scene::new(Who::Root, Pen::Cgroup) else { return };
    const FLOOD: u64 = 200 * MEGABYTE;
    let flags = ["--output-limit", "8M", "--name", "x"];
    let id = scene.launch(&flags, &["flood", &FLOOD.to_string()]);
    let keeper = scene.keeper();
    let folder = scene.session_folder(&id);
    let (mut most_memory, mut most_disk) = (0, 0);
    eventually("the flood is over", || {
        most_memory = most_memory.max(keeper.and_then(private_dirty).unwrap_or(0));
        most_disk = most_disk.max(on_disk(&folder));
        scene.session(&id)["phase"] == "cleaned"
    });
    assert_eq!(scene.session(&id)["exit"]["code"], 0, "the agent wrote it all");
    assert!(most_disk <= 8 * MEGABYTE, "{most_disk} bytes on disk");
    assert!(most_memory < 2048, "the keeper had {most_memory} KiB");
    let tail = scene.call_ok(&["logs", "--tail", "1", "x"]);
    assert_eq!(tail.trim_end(), format!("{:063}", FLOOD / 64 - 1));
    let whole = scene.call(&["logs", "x"]);
    assert!(whole.stderr.contains("older than the limit allows"), "{}", whole.stderr);
    assert!(whole.stdout.ends_with(&tail));
    scene.stop_daemon();
}

/// O2: one follower is stuck, one is killed, one reads.
#[test]
fn a_stuck_or_killed_follower_does_not_affect_others() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else { return };
    let script = format!(
        "while [ ! -e go ]; do sleep 0.01; done; {} flood 20000000; echo; echo end",
        scene.fake_agent()
    );
    let id = scene.launch_command(&["--name", "x"], &["/bin/sh", "-c", &script]);
    let follow = || {
        let mut command = scene.kennel(&["logs", "-f", "x"]);
        command.stdout(Stdio::piped());
        command.spawn().expect("it starts")
    };
    let mut stuck = follow();
    let mut killed = follow();
    let mut reading = follow();
    let mut attach = scene.kennel(&["attach", "x"]);
    attach.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut attached = attach.spawn().expect("it starts");
    fs::write(scene.path("work/go"), "").expect("a file");
    let mut text = String::new();
    reading.stdout.take().expect("piped").read_to_string(&mut text).expect("text");
    killed.kill().expect("our child");
    assert!(reading.wait().expect("our child").success());
    assert_eq!(text.len(), 20_000_000 + "\nend\n".len());
    let lines: Vec<&str> = text.lines().take(20_000_000 / 64).collect();
    for (number, line) in lines.iter().enumerate() {
        assert_eq!(*line, format!("{number:063}"));
    }
    assert_eq!(scene.call(&["wait", &id]).code, 0);
    assert!(stuck.try_wait().expect("our child").is_none(), "it hangs at its own pipe");
    for child in [&mut stuck, &mut killed, &mut attached] {
        child.kill().expect("our child");
        child.wait().expect("our child");
    }
    scene.assert_nothing_left();
    scene.stop_daemon();
}

/// A session belongs to its own client, not to those that watch it.
#[test]
fn a_viewer_that_loses_its_output_leaves_the_session_running() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else { return };
    let script = "while :; do echo x; echo y >&2; sleep 0.05; done";
    let id = scene.launch_command(&["--name", "x"], &["/bin/sh", "-c", script]);
    for flags in [&["attach", "x"][..], &["attach", "--read-only", "x"]] {
        let mut attach = scene.kennel(flags);
        attach.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut attached = attach.spawn().expect("it starts");
        attached.stdout.take().expect("piped").read_exact(&mut [0]).expect("output");
        assert_eq!(attached.wait().expect("our child").code(), Some(0), "{flags:?}");
    }
    let mut attach = scene.kennel(&["attach", "x"]);
    attach.stdout(fs::File::create("/dev/full").expect("a device"));
    let failed = attach.stdin(Stdio::null()).stderr(Stdio::piped()).output().expect("it starts");
    let text = String::from_utf8_lossy(&failed.stderr);
    assert_eq!(failed.status.code(), Some(207), "{text}");
    assert!(text.contains("can't write to standard output: No space left"), "{text}");
    assert!(text.contains("detached from x, which keeps running"), "{text}");
    let written = scene.output(&id).len();
    eventually("it keeps writing", || scene.output(&id).len() > written + 10);
    assert_eq!(scene.session(&id)["phase"], "running");
    scene.call_ok(&["stop", "x"]);
    scene.stop_daemon();
}

everywhere! {
    /// O3
    fn a_follower_loses_nothing_over_a_restart_of_the_daemon(scene: Scene) {
        let id = Part::new("x", false).launch(&scene);
        let follower = Running::start(scene.kennel(&["logs", "-f", "x"]));
        for _ in 0..2 {
            let before = Journal::read(&scene.session_folder(&id)).numbers().len();
            signal(scene.daemon().expect("a daemon"), "KILL");
            scene.call_ok(&["ps"]);
            scene.call_ok(&["daemon", "restart"]);
            eventually("output continues", || {
                Journal::read(&scene.session_folder(&id)).numbers().len() > before + 5
            });
        }
        scene.call_ok(&["stop", "x"]);
        let followed = follower.wait();
        assert_eq!((followed.code, followed.stderr.as_str()), (0, ""));
        assert_eq!(followed.stdout, scene.output(&id), "no byte lost, none twice");
        let journal = Journal::read(&scene.session_folder(&id));
        assert_eq!(journal.text, followed.stdout);
        journal.assert_in_order();
        scene.stop_daemon();
    }
}
