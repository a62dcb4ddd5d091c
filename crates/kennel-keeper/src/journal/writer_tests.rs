//! A writer on a full or broken disk.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex};

use super::*;
use crate::journal::{JournalItem, JournalReader};
use crate::protocol::{OUTCOME_FILE, OutcomeFile};

const LIMIT: u64 = 512 * 1024;

/// A disk with limited space, which may also fail.
#[derive(Debug, Clone, Default)]
struct LimitedDisk(Arc<Mutex<LimitedDiskState>>);

#[derive(Debug, Default)]
struct LimitedDiskState {
    /// The number of bytes by which files may still grow, if limited.
    free: Option<u64>,
    /// The length of each file by inode. It may be overwritten.
    own: HashMap<u64, u64>,
    /// Whether every write fails.
    broken: bool,
    /// Whether no file can be created.
    no_inodes: bool,
    /// The number of renamed and removed files.
    dropped: usize,
}

impl LimitedDisk {
    fn set(&self, change: impl FnOnce(&mut LimitedDiskState)) {
        change(&mut self.0.lock().unwrap());
    }

    fn dropped(&self) -> usize {
        self.0.lock().unwrap().dropped
    }
}

impl Disk for LimitedDisk {
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        if self.0.lock().unwrap().no_inodes {
            return Err(io::ErrorKind::StorageFull.into());
        }
        RealDisk.make_folder(path)
    }

    fn open(&self, path: &Path, make: bool) -> io::Result<File> {
        if make && !path.exists() && self.0.lock().unwrap().no_inodes {
            return match path.parent().is_some_and(Path::exists) {
                true => Err(io::ErrorKind::StorageFull.into()),
                false => Err(io::ErrorKind::NotFound.into()),
            };
        }
        RealDisk.open(path, make)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.lock().unwrap().dropped += 1;
        RealDisk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.0.lock().unwrap();
        state.dropped += 1;
        let inode = path.metadata()?.ino();
        let own = state.own.remove(&inode).unwrap_or(0);
        state.free = state.free.map(|free| free + own);
        RealDisk.remove(path)
    }

    /// Like a real disk, it writes what fits, and fails only if nothing does.
    fn write(&self, file: &File, head: &[u8], data: &[u8], at: u64) -> io::Result<usize> {
        let mut state = self.0.lock().unwrap();
        if state.broken {
            return Err(rustix::io::Errno::IO.into());
        }
        let inode = file.metadata()?.ino();
        let own = state.own.get(&inode).copied().unwrap_or(0);
        let length = (head.len() + data.len()) as u64;
        let grown = (at + length).saturating_sub(own);
        let allowed = state.free.map_or(grown, |free| free.min(grown));
        let fits = (length - (grown - allowed)) as usize;
        if fits == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        state.free = state.free.map(|free| free - allowed);
        state.own.insert(inode, own.max(at + fits as u64));
        let head = &head[..head.len().min(fits)];
        RealDisk.write(file, head, &data[..fits - head.len()], at)
    }
}

struct Scene {
    disk: LimitedDisk,
    writer: JournalWriter,
    folder: tempfile::TempDir,
}

impl Scene {
    fn new(change: impl FnOnce(&mut LimitedDiskState)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let disk = LimitedDisk::default();
        disk.set(change);
        let writer =
            JournalWriter::create_on(Box::new(disk.clone()), &folder.path().join("journal"), LIMIT)
                .unwrap();
        Self { disk, writer, folder }
    }

    /// Appends bytes that depend on their offset. Returns how many were lost.
    fn append(&mut self, length: usize) -> u64 {
        let data = at(self.writer.end(), length);
        match self.writer.append(1, 5, &data) {
            Appended::Kept => 0,
            Appended::Lost { bytes, .. } => bytes,
        }
    }

    /// Reads everything from `offset` on, and checks the data. Returns the gaps and the end.
    fn read(&self, offset: u64) -> (Vec<(u64, Option<u64>, LossReason)>, u64) {
        let mut reader = JournalReader::open(&self.folder.path().join("journal")).unwrap();
        reader.seek(offset).unwrap();
        let (mut gaps, mut next) = (Vec::new(), offset);
        loop {
            match reader.next().unwrap() {
                JournalItem::Data { offset, data, .. } => {
                    assert_eq!(offset, next);
                    assert!(data == at(offset, data.len()), "wrong bytes at {offset}");
                    next += data.len() as u64;
                }
                JournalItem::Gap { offset, lost, why } => {
                    assert_eq!(offset, next);
                    next += lost.unwrap_or(0);
                    gaps.push((offset, lost, why));
                }
                JournalItem::End => return (gaps, next),
            }
        }
    }
}

fn at(offset: u64, length: usize) -> Vec<u8> {
    (offset..offset + length as u64).map(|offset| (offset ^ (offset >> 9)) as u8).collect()
}

#[test]
fn a_full_disk_at_launch_is_no_error_and_is_recorded_later() {
    let mut scene = Scene::new(|state| state.no_inodes = true);
    assert_eq!(scene.append(100), 100);
    assert_eq!(scene.append(50), 50);
    assert_eq!((scene.writer.start(), scene.writer.end()), (0, 150));
    assert_eq!(scene.read(0), (vec![], 0));
    scene.disk.set(|state| state.no_inodes = false);
    assert_eq!(scene.append(30), 0);
    assert_eq!(scene.read(0), (vec![(0, Some(150), LossReason::DiskFull)], 180));
    // From the middle of the gap only the rest is missing.
    assert_eq!(scene.read(60), (vec![(60, Some(90), LossReason::DiskFull)], 180));
}

#[test]
fn a_full_disk_loses_new_output_while_there_is_little_old_output() {
    let mut scene = Scene::new(|state| state.free = Some(1000));
    assert_eq!(scene.append(500), 0);
    assert_eq!(scene.append(500), 500);
    assert_eq!(scene.append(500), 500);
    // A short one still fits.
    assert_eq!(scene.append(100), 0);
    assert_eq!(scene.read(0), (vec![(500, Some(1000), LossReason::DiskFull)], 1600));
    assert_eq!(scene.append(4000), 4000);
    assert!(matches!(scene.writer.settle(9), Appended::Kept));
    let gaps =
        vec![(500, Some(1000), LossReason::DiskFull), (1600, Some(4000), LossReason::DiskFull)];
    assert_eq!(scene.read(0), (gaps, 5600));
    assert_eq!(scene.disk.dropped(), 0);
}

#[test]
fn a_full_disk_drops_old_output_for_new() {
    // The disk is full after three and a half segments.
    let mut scene = Scene::new(|state| state.free = Some(230_000));
    for _ in 0..2000 {
        assert_eq!(scene.append(1000), 0, "at {}", scene.writer.end());
    }
    let start = scene.writer.start();
    assert!(start > 1_700_000 && start < 1_950_000, "{start}");
    assert_eq!(scene.read(0), (vec![(0, Some(start), LossReason::Dropped)], 2_000_000));
    // Pieces larger than one old segment.
    for _ in 0..20 {
        assert_eq!(scene.append(150_000), 0);
    }
    let start = scene.writer.start();
    assert_eq!(scene.read(0), (vec![(0, Some(start), LossReason::Dropped)], 5_000_000));
}

#[test]
fn the_only_segment_starts_over_if_it_is_large_enough() {
    let mut scene = Scene::new(|state| state.free = Some(65_536 + 100));
    for _ in 0..300 {
        assert_eq!(scene.append(1000), 0, "at {}", scene.writer.end());
    }
    let start = scene.writer.start();
    assert_eq!(scene.read(0), (vec![(0, Some(start), LossReason::Dropped)], 300_000));
}

#[test]
fn no_output_is_dropped_to_record_a_loss() {
    let mut scene = Scene::new(|_| {});
    for _ in 0..100 {
        assert_eq!(scene.append(1000), 0);
    }
    scene.disk.set(|state| (state.free, state.broken) = (Some(0), true));
    assert_eq!(scene.append(1000), 1000);
    let (dropped, start) = (scene.disk.dropped(), scene.writer.start());
    for _ in 0..10 {
        assert!(matches!(scene.writer.settle(1), Appended::Lost { bytes: 1000, .. }));
    }
    assert_eq!((scene.disk.dropped(), scene.writer.start()), (dropped, start));
}

/// On a disk that is always full, the journal itself can't record the loss.
#[test]
fn a_loss_that_the_journal_cannot_record_is_noted_beside_it() {
    let mut scene = Scene::new(|state| state.no_inodes = true);
    let outcome = scene.folder.path().join(OUTCOME_FILE);
    let _room = OutcomeFile::reserve(&outcome).unwrap();
    assert_eq!(scene.append(1000), 1000);
    assert_eq!(scene.read(0), (vec![], 0));
    assert!(matches!(scene.writer.settle(1), Appended::Kept));
    assert_eq!(scene.read(0), (vec![(0, Some(1000), LossReason::DiskFull)], 1000));
}

#[test]
fn a_broken_disk_does_not_cost_the_whole_journal() {
    let mut scene = Scene::new(|_| {});
    for _ in 0..400 {
        assert_eq!(scene.append(1000), 0);
    }
    let start = scene.writer.start();
    assert_eq!(start, 0);
    scene.disk.set(|state| state.broken = true);
    for _ in 0..400 {
        assert_eq!(scene.append(1000), 1000);
    }
    assert_eq!(scene.disk.dropped(), 1, "at most one segment is dropped in vain");
    assert!(matches!(scene.writer.settle(1), Appended::Lost { bytes: 400_000, .. }));
    scene.disk.set(|state| state.broken = false);
    assert_eq!(scene.append(10), 0);
    let start = scene.writer.start();
    let gaps =
        vec![(0, Some(start), LossReason::Dropped), (400_000, Some(400_000), LossReason::DiskFull)];
    assert_eq!(scene.read(0), (gaps, 800_010));
}

#[test]
fn without_space_for_a_new_segment_the_oldest_one_is_reused() {
    let mut scene = Scene::new(|_| {});
    for _ in 0..130 {
        assert_eq!(scene.append(1000), 0);
    }
    // Files can be created, but nothing can be written to them.
    scene.disk.set(|state| state.free = Some(0));
    for _ in 0..1000 {
        assert_eq!(scene.append(1000), 0, "at {}", scene.writer.end());
    }
    let start = scene.writer.start();
    assert_eq!(scene.read(0), (vec![(0, Some(start), LossReason::Dropped)], 1_130_000));
    // Files can't be created either. Then there is space again.
    scene.disk.set(|state| (state.free, state.no_inodes) = (Some(0), true));
    for _ in 0..1000 {
        assert_eq!(scene.append(1000), 0, "at {}", scene.writer.end());
    }
    scene.disk.set(|state| (state.free, state.no_inodes) = (None, false));
    for _ in 0..1000 {
        assert_eq!(scene.append(1000), 0);
    }
    let start = scene.writer.start();
    assert_eq!(scene.read(0), (vec![(0, Some(start), LossReason::Dropped)], 3_130_000));
    assert!(3_130_000 - start > LIMIT * 3 / 4, "it uses its space again: {start}");
}

#[test]
fn offsets_are_right_when_free_space_comes_and_goes() {
    let mut scene = Scene::new(|state| state.free = Some(0));
    let mut lost = 0;
    for round in 0..3000_u64 {
        // Little space at a time, so that writes end anywhere in a record.
        scene.disk.set(|state| state.free = Some(round * 7 % 300));
        lost += scene.append((round * 37 % 2500) as usize + 1);
    }
    scene.disk.set(|state| state.free = None);
    assert_eq!(scene.append(10), 0);
    let (gaps, end) = scene.read(scene.writer.start());
    assert_eq!(end, scene.writer.end());
    let recorded: u64 = gaps.iter().filter_map(|(_, lost, _)| *lost).sum();
    assert!(
        recorded <= lost
            && gaps.iter().all(|(_, lost, why)| lost.is_some() && *why == LossReason::DiskFull)
    );
}

#[test]
fn removed_files_do_not_disturb_the_writer() {
    let mut scene = Scene::new(|_| {});
    for _ in 0..1000 {
        assert_eq!(scene.append(1000), 0);
    }
    std::fs::remove_dir_all(scene.folder.path().join("journal")).unwrap();
    for _ in 0..1000 {
        assert_eq!(scene.append(1000), 0);
    }
    let (gaps, end) = scene.read(0);
    assert_eq!((gaps.len(), end), (1, 2_000_000));
}
