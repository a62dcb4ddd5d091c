//! A real file system that is full.

use std::path::Path;
use std::process::Command;

use kennel_keeper::journal::{Appended, JournalReader, JournalWriter, LossReason};

use super::{Seen, bytes_at, drain};

const DISK: &str = "JOURNAL_TEST_DISK";

/// Runs [`on_a_small_disk`] with a small tmpfs in a mount namespace, so that nothing is left.
#[test]
fn a_full_disk() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: a_full_disk needs root to mount a small file system");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-ec"])
        .arg("mount -t tmpfs -o size=1m kennel-test \"$1\"; shift; exec \"$@\"")
        .args(["sh".as_ref(), folder.path(), &std::env::current_exe().unwrap()])
        .args(["--exact", "full_disk::on_a_small_disk", "--ignored", "--nocapture"])
        .env(DISK, folder.path())
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) => return eprintln!("SKIPPED: a_full_disk needs unshare(1): {error}"),
    };
    let printed = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    if complaint.contains("unshare failed") || complaint.contains("mount:") {
        return eprintln!("SKIPPED: a_full_disk can't mount here: {complaint}");
    }
    assert!(output.status.success() && printed.contains("1 passed"), "{printed}{complaint}");
}

/// Run by the test above.
#[test]
#[ignore = "started by another test"]
fn on_a_small_disk() {
    let Some(disk) = std::env::var_os(DISK) else { return };
    let disk = Path::new(&disk);
    fills_up_in_the_middle(disk);
    is_full_from_the_start(disk);
}

/// Another program uses all free space.
fn fill(disk: &Path, name: &str) {
    let mut left = vec![1_u8; 4 << 20];
    let file = std::fs::File::create(disk.join(name)).unwrap();
    while !left.is_empty() {
        match rustix::io::write(&file, &left) {
            Ok(written) => left.truncate(left.len() - written),
            Err(rustix::io::Errno::NOSPC) => return,
            Err(error) => panic!("{error}"),
        }
    }
    panic!("this disk is not small");
}

fn append(writer: &mut JournalWriter, length: usize) -> u64 {
    let data = bytes_at(writer.end(), length);
    match writer.append(1, 1, &data) {
        Appended::Kept => 0,
        Appended::Lost { bytes, error } => {
            assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
            bytes
        }
    }
}

/// Checks the data. Returns the gaps with their reasons, and the end.
fn read(journal: &Path) -> (Vec<(LossReason, u64)>, u64) {
    let mut reader = JournalReader::open(journal).unwrap();
    let (mut gaps, mut next) = (Vec::new(), 0);
    for seen in drain(&mut reader) {
        match seen {
            Seen::Data { offset, data, .. } => {
                assert!(offset == next && data == bytes_at(offset, data.len()));
                next += data.len() as u64;
            }
            Seen::Gap { offset, lost, why } => {
                assert_eq!(offset, next);
                next += lost.unwrap();
                gaps.push((why, lost.unwrap()));
            }
        }
    }
    (gaps, next)
}

fn fills_up_in_the_middle(disk: &Path) {
    let journal = disk.join("middle");
    let mut writer = JournalWriter::create(&journal, 800 << 10).unwrap();
    for _ in 0..300 {
        assert_eq!(append(&mut writer, 1000), 0);
    }
    fill(disk, "ballast");
    // A full disk costs old output: three times the size of the journal is appended.
    for round in 0..900 {
        assert_eq!(append(&mut writer, 1000), 0, "round {round}");
    }
    let start = writer.start();
    assert!(start > 900_000);
    assert_eq!(read(&journal), (vec![(LossReason::Dropped, start)], 1_200_000));
    std::fs::remove_file(disk.join("ballast")).unwrap();
    for _ in 0..2000 {
        assert_eq!(append(&mut writer, 1000), 0);
    }
    assert!(writer.end() - writer.start() > 600_000, "it grows again when there is space");
    std::fs::remove_dir_all(&journal).unwrap();
}

fn is_full_from_the_start(disk: &Path) {
    let journal = disk.join("start");
    fill(disk, "ballast");
    let mut writer = JournalWriter::create(&journal, 800 << 10).unwrap();
    assert_eq!(append(&mut writer, 1000), 1000);
    assert_eq!(append(&mut writer, 500), 500);
    std::fs::remove_file(disk.join("ballast")).unwrap();
    assert_eq!(append(&mut writer, 10), 0);
    assert_eq!(read(&journal), (vec![(LossReason::DiskFull, 1500)], 1510));
}
