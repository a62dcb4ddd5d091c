//! Power cuts and broken disks, with ext4 in a file: the file contains what reached the disk.

use std::fs;
use std::path::Path;
use std::process::Command;

use kennel_register::{Durability, Register};
use kennel_types::Phase;

use crate::scene::{
    HOME, Scene, event_of, id, mount, must_pass, role_folder, role_with_mounts, skip, stored, wait,
};

/// Runs a test that mounts disk images.
fn with_images(test: &str) {
    let scene = Scene::new();
    if let Some(role) = role_with_mounts(test, scene.folder.path()) {
        must_pass(role);
    }
}

/// Creates a disk and mounts it. Only flushes write to it.
fn disk(folder: &Path) -> bool {
    let image = folder.join("image");
    fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
    let made = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image).status();
    let options = "loop,data=ordered,commit=300";
    let mounted = made.is_ok_and(|status| status.success())
        && mount(&folder.join("disk"), &["-o", options, image.to_str().unwrap()]);
    if !mounted {
        skip("the register on a failing disk", "can't mount ext4 from a file");
    }
    mounted
}

#[test]
fn durable_writes_survive_a_power_cut() {
    with_images("power_cut::role_loses_power");
}

#[test]
#[ignore = "started by the test above, with its own mounts"]
fn role_loses_power() {
    let Some(folder) = role_folder() else { return };
    if !disk(&folder) {
        return;
    }
    let register = Register::open(&folder.join("disk/register.db"), HOME).unwrap().register;
    let save = |number: u32, phase, durability| {
        register.save(stored(number, phase), vec![event_of(number, "x")], durability)
    };
    let mut number = 0;
    let mut lost = 0;
    // The cuts happen between several checkpoints and restarts of the WAL.
    for cut in 0..8 {
        for _ in 0..100 {
            number += 1;
            wait(save(number, Phase::Reserved, Durability::Durable)).unwrap();
            drop(save(number, Phase::Running, Durability::Soon));
            wait(save(number, Phase::Cleaned, Durability::Durable)).unwrap();
        }
        wait(save(900_000 + cut, Phase::Running, Durability::Soon)).unwrap();
        let after = after_power_cut(&folder, cut);
        let opened = Register::open(&after.join("register.db"), HOME).unwrap();
        let cleaned: Vec<_> =
            opened.sessions.iter().filter(|row| row.session.phase == Phase::Cleaned).collect();
        assert_eq!(cleaned.len(), number as usize, "cut {cut}");
        lost += u32::from(opened.sessions.iter().all(|row| row.session.id != id(900_000 + cut)));
        opened.register.close();
        assert!(Command::new("umount").arg(&after).status().unwrap().success());
    }
    assert!(lost > 0, "every other write survived too, so the test simulates no power cut");
}

/// Mounts a copy of the disk as a power cut at this moment would leave it.
fn after_power_cut(folder: &Path, cut: u32) -> std::path::PathBuf {
    let image = folder.join("image.cut");
    fs::copy(folder.join("image"), &image).unwrap();
    let after = folder.join(format!("after-{cut}"));
    assert!(mount(&after, &["-o", "loop", image.to_str().unwrap()]));
    after
}

#[test]
fn reports_a_broken_disk_to_every_writer() {
    with_images("power_cut::role_writes_on_a_broken_disk");
}

#[test]
#[ignore = "started by the test above, with its own mounts"]
fn role_writes_on_a_broken_disk() {
    let Some(folder) = role_folder() else { return };
    if !disk(&folder) {
        return;
    }
    let register = Register::open(&folder.join("disk/register.db"), HOME).unwrap().register;
    let save = |number| register.save(stored(number, Phase::Running), vec![], Durability::Durable);
    wait(save(1)).unwrap();
    // This is what ext4 does when the device fails: it refuses all further writes.
    let broken =
        Command::new("mount").args(["-o", "remount,abort"]).arg(folder.join("disk")).status();
    if !broken.unwrap().success() {
        return skip("a broken disk", "can't make ext4 abort");
    }
    for number in 2..6 {
        let error = wait(save(number)).unwrap_err();
        assert!(
            error.to_string().contains("disk") || error.to_string().contains("writ"),
            "{error}"
        );
    }
    register.close();
}
