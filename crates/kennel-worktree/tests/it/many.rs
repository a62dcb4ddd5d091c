//! Many concurrent sessions of one repository.

use kennel_worktree::{BranchOutcome, RemoveOutcome, WorktreeRecord, remove};

use crate::scene::Scene;

const SESSIONS: usize = 8;

#[test]
fn creates_and_removes_many_worktrees_concurrently() {
    let scene = Scene::new();
    // With packed references, deleting a branch needs the lock of all.
    let records: Vec<WorktreeRecord> = (0..SESSIONS)
        .map(|number| {
            scene.plan_for(&scene.repo, &format!("many{number}"), None).expect("a plan").record
        })
        .collect();
    std::thread::scope(|threads| {
        for record in &records {
            threads.spawn(|| scene.create(record));
        }
    });
    scene.git(&["pack-refs", "--all"]);
    scene.assert_whole();
    let own = scene.commit_in(&records[0].path, "of its own");
    std::thread::scope(|threads| {
        for (number, record) in records.iter().enumerate() {
            let scene = &scene;
            threads.spawn(move || match remove(&scene.tool(), record).expect("no error") {
                RemoveOutcome::Gone { branch: BranchOutcome::Deleted { .. } } => {
                    assert_ne!(number, 0)
                }
                RemoveOutcome::Kept { .. } => assert_eq!(number, 0),
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

/// Several callers remove one worktree.
#[test]
fn concurrent_removals_have_the_same_result() {
    let scene = Scene::new();
    let record = scene.worktree();
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                let removed = remove(&scene.tool(), &record).expect("no error");
                assert!(matches!(removed, RemoveOutcome::Gone { .. }), "{removed:?}");
            });
        }
    });
    scene.assert_nothing_left(&record);
}
