//! Many sessions of one repository at once.

use kennel_worktree::{BranchFate, Record, Removed, remove};

use crate::scene::Scene;

const SESSIONS: usize = 8;

#[test]
fn made_and_removed_at_the_same_time() {
    let scene = Scene::new();
    // With packed references, deleting one needs the lock of all.
    let records: Vec<Record> = (0..SESSIONS)
        .map(|number| {
            scene.plan_for(&scene.repo, &format!("many{number}"), None).expect("a plan").record
        })
        .collect();
    std::thread::scope(|threads| {
        for record in &records {
            threads.spawn(|| scene.make(record));
        }
    });
    scene.git(&["pack-refs", "--all"]);
    scene.assert_whole();
    let own = scene.commit_in(&records[0].path, "of its own");
    std::thread::scope(|threads| {
        for (number, record) in records.iter().enumerate() {
            let scene = &scene;
            threads.spawn(move || match remove(&scene.tool(), record).expect("no error") {
                Removed::Gone { branch: BranchFate::Deleted { .. } } => assert_ne!(number, 0),
                Removed::Kept { .. } => assert_eq!(number, 0),
                other => panic!("{other:?}"),
            });
        }
    });
    for record in &records[1..] {
        scene.assert_nothing_left(record);
    }
    assert_eq!(scene.git_in(&records[0].path, &["rev-parse", "HEAD"]), own);
    assert_eq!(scene.git(&["worktree", "list"]).lines().count(), 2);
}

/// One worktree, removed by several at once: all say the same.
#[test]
fn removed_by_several_at_once() {
    let scene = Scene::new();
    let record = scene.made();
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                let removed = remove(&scene.tool(), &record).expect("no error");
                assert!(matches!(removed, Removed::Gone { .. }), "{removed:?}");
            });
        }
    });
    scene.assert_nothing_left(&record);
}
