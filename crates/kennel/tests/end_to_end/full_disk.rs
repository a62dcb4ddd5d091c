//! With a full disk, sessions continue, lost output is marked, and missing records are reported.

use kennel_keeper::journal::LossReason;
use kennel_testing::{Pen, Scene, SmallDisk, Who, eventually, signal};

use crate::journal::Journal;

/// S13
#[test]
fn sessions_can_be_listed_and_stopped_on_a_full_disk() {
    for pen in [Pen::Cgroup, Pen::Subtree] {
        let Some(scene) = Scene::new(Who::Root, pen) else { return };
        let disk = SmallDisk::at_home(&scene);
        let id = scene.launch_ready(&["--name", "x"], &["env-i"]);
        disk.fill();
        signal(scene.daemon().expect("a daemon"), "KILL");
        let session = scene.session(&id);
        assert_eq!(session["phase"], "running", "{session:#}");
        let stop = scene.call(&["stop", &id]);
        assert_eq!(stop.code, 0, "{stop:?}");
        scene.assert_nothing_left_soon();
        let session = scene.session(&id);
        assert_eq!(session["exit"]["signal"], 15, "{session:#}");
        // The reserved space may suffice for the record; if not, Kennel reports it.
        let people = scene.call_ok(&["ps", "-a"]);
        let printed = people.contains("could not be recorded");
        assert_eq!(session["unrecorded"] == true, printed, "{session:#}{people}");
        disk.free();
        eventually("it is put on record", || {
            let session = scene.session(&id);
            session["unrecorded"] == false && session["phase"] == "cleaned"
        });
        signal(scene.daemon().expect("a daemon"), "KILL");
        assert_eq!(scene.session(&id)["exit"]["signal"], 15, "for the next daemon too");
        scene.stop_daemon();
    }
}

/// O4
#[test]
fn a_full_disk_costs_output_and_the_loss_is_marked() {
    let Some(scene) = Scene::new(Who::Root, Pen::Subtree) else { return };
    let disk = SmallDisk::at_home(&scene);
    let agent = scene.fake_agent();
    let script =
        format!("while read what; do [ $what = flood ] && {agent} flood 900000; echo $what; done");
    let id = scene.launch_command(&["-i", "--name", "x"], &["/bin/sh", "-c", &script]);
    let journal = || Journal::read(&scene.session_folder(&id));
    scene.call_ok(&["send", "x", "--enter", "before"]);
    eventually("it is in the journal", || journal().text.contains("before\n"));
    disk.fill();
    scene.call_ok(&["send", "x", "--enter", "flood"]);
    // It never blocks: the agent continues and reads its next line.
    scene.call_ok(&["send", "x", "--enter", "more"]);
    scene.call_ok(&["send", "x", "--enter", "more"]);
    let waiting = || {
        let stat =
            kennel_testing::Process::look(scene.session(&id)["pid"].as_i64().unwrap_or(0) as i32);
        stat.is_some_and(|process| process.state == 'S') && scene.processes().len() == 2
    };
    eventually("the agent waits for input", waiting);
    disk.free();
    scene.call_ok(&["send", "x", "--enter", "after"]);
    eventually("writing works again", || journal().text.ends_with("after\n"));
    let journal = journal();
    assert!(journal.text.starts_with("before\n"), "{:?}", &journal.text[..20]);
    assert!(journal.gaps.contains(&LossReason::DiskFull), "{:?}", journal.gaps);
    let logs = scene.call(&["logs", "x"]);
    assert!(logs.stderr.contains("the disk was full"), "{}", logs.stderr);
    scene.call_ok(&["stop", "x"]);
    scene.stop_daemon();
}
