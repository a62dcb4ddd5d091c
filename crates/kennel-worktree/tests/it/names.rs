//! Unusual names.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use kennel_worktree::{BranchOutcome, KeepReason};

use crate::scene::{Scene, write};

#[test]
fn accepts_unusual_names_of_repositories() {
    for name in [
        "with blanks",
        "new\nline",
        "h\u{fc}tte \u{1f415}",
        "-dash",
        "--upload-pack=x",
        "a'b\"c$(d)",
        "...",
    ] {
        let scene = Scene::named(name);
        let record = scene.plan(&scene.repo.join("sub folder"), None).expect(name).record;
        assert_eq!(scene.create(&record).cwd, record.path.join("sub folder"), "{name:?}");
        write(&record.path, "-new\nfile", "");
        assert!(matches!(scene.kept(&record).as_slice(), [KeepReason::Changes(_)]), "{name:?}");
        fs::remove_file(record.path.join("-new\nfile")).expect("removed");
        assert!(matches!(scene.gone(&record), BranchOutcome::Deleted { .. }), "{name:?}");
    }
}

#[test]
fn accepts_names_of_folders_that_are_not_utf8() {
    let scene = Scene::new();
    let folder = scene.repo.join(OsStr::from_bytes(b"\xff\xfe"));
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join("file"), "").expect("written");
    scene.commit_all("bytes");
    let record = scene.plan(&folder, None).expect("a plan").record;
    assert_eq!(scene.create(&record).cwd, record.path.join(OsStr::from_bytes(b"\xff\xfe")));
    let _fate = scene.gone(&record);
}

#[test]
fn accepts_unusual_names_of_branches() {
    for name in [
        "h\u{fc}tte/\u{1f415}",
        "a'b\"c$(d);x",
        "x/y/z",
        "refs/heads/x",
        "@",
        "0000000",
        "a%b",
        "a,b!c",
    ] {
        let scene = Scene::new();
        let record = scene.worktree_on(Some(name));
        assert_eq!(
            scene.git_in(&record.path, &["symbolic-ref", "HEAD"]),
            format!("refs/heads/{name}")
        );
        scene.commit_in(&record.path, "own");
        assert_eq!(scene.kept(&record), [KeepReason::Commits(1)], "{name}");
        scene.git_in(&record.path, &["reset", "-q", "--hard", "HEAD~"]);
        assert!(matches!(scene.gone(&record), BranchOutcome::Deleted { .. }), "{name}");
    }
}
