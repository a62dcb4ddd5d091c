//! An invalid register is refused with what to do, and stays unchanged.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use kennel_register::{Durability, OpenRegisterError, Register};
use kennel_types::Phase;
use rusqlite::Connection;

use crate::scene::{
    HOME, Scene, mount, must_pass, role, role_folder, role_with_mounts, skip, stored, wait,
};

/// Returns every file of the folder with its bytes, except `-shm`, which contains no records, and
/// an empty WAL.
fn contents(scene: &Scene) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = scene.folder.path().read_dir().unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        entries.filter(|path| path.is_file() && !path.ends_with("register.db-shm")).collect();
    files.sort();
    let files = files.into_iter().map(|path| (path.clone(), fs::read(path).unwrap()));
    files.filter(|(path, bytes)| !path.ends_with("register.db-wal") || !bytes.is_empty()).collect()
}

/// Checks that opening is refused, that the error mentions `kennel rescue`, and that no file has
/// changed.
#[track_caller]
fn refused_untouched(scene: &Scene) -> OpenRegisterError {
    let before = contents(scene);
    let error = scene.refused();
    assert!(error.to_string().contains("kennel rescue"), "{error}");
    assert!(contents(scene) == before, "files have changed");
    error
}

#[test]
fn refuses_a_text_file() {
    let scene = Scene::new();
    fs::write(scene.path(), "this is my diary\n".repeat(500)).unwrap();
    let error = refused_untouched(&scene);
    assert!(matches!(error, OpenRegisterError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains("move it away"), "{error}");
}

#[test]
fn refuses_a_damaged_page() {
    let scene = Scene::new();
    scene.filled();
    let mut bytes = fs::read(scene.path()).unwrap();
    bytes[4096..].chunks_mut(4096).for_each(|page| page[..64].fill(0x5a));
    fs::write(scene.path(), bytes).unwrap();
    let error = refused_untouched(&scene);
    assert!(matches!(error, OpenRegisterError::Damaged { .. }), "{error}");
}

#[test]
fn refuses_a_truncated_file() {
    let scene = Scene::new();
    scene.filled();
    let bytes = fs::read(scene.path()).unwrap();
    fs::write(scene.path(), &bytes[..bytes.len() / 2]).unwrap();
    let error = refused_untouched(&scene);
    assert!(matches!(error, OpenRegisterError::Damaged { .. }), "{error}");
}

#[test]
fn a_refused_register_keeps_its_wal() {
    let scene = Scene::new();
    scene.filled();
    let database = Connection::open(scene.path()).unwrap();
    let keep = rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
    database.set_db_config(keep, true).unwrap();
    database.pragma_update(None, "user_version", 99).unwrap();
    drop(database);
    assert!(scene.companion("-wal").metadata().unwrap().len() > 0);
    let error = refused_untouched(&scene);
    assert!(matches!(error, OpenRegisterError::OtherVersion { .. }), "{error}");
}

#[test]
fn refuses_a_register_with_an_unreadable_session() {
    let scene = Scene::new();
    scene.filled();
    let database = Connection::open(scene.path()).unwrap();
    let sql = "UPDATE sessions SET session = replace(session, '\"running\"', '\"dancing\"')
               WHERE name = 'session-7'";
    assert_eq!(database.execute(sql, []).unwrap(), 1);
    drop(database);
    let error = refused_untouched(&scene).to_string();
    assert!(error.contains("dancing"), "{error}");
}

#[test]
fn refuses_newer_and_older_versions() {
    let scene = Scene::new();
    scene.filled();
    for other in [99, 3] {
        let database = Connection::open(scene.path()).unwrap();
        database.pragma_update(None, "user_version", other).unwrap();
        drop(database);
        let error = refused_untouched(&scene);
        let text = error.to_string();
        let OpenRegisterError::OtherVersion { version, .. } = error else { panic!("{text}") };
        assert_eq!(version, other);
        assert!(text.contains("use the Kennel version that wrote it"), "{text}");
    }
}

#[test]
fn refuses_the_database_of_another_program() {
    let scene = Scene::new();
    let database = Connection::open(scene.path()).unwrap();
    database.execute_batch("CREATE TABLE bookmarks (url); PRAGMA user_version = 1").unwrap();
    drop(database);
    let error = refused_untouched(&scene);
    assert!(matches!(error, OpenRegisterError::Foreign { .. }), "{error}");
}

#[test]
fn refuses_a_locked_register_after_the_timeout() {
    let scene = Scene::new();
    scene.filled();
    let holder = Connection::open(scene.path()).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = scene.refused();
    assert!(matches!(error, OpenRegisterError::Locked { .. }), "{error}");
    assert!(error.to_string().contains("fuser"), "{error}");
    holder.execute_batch("ROLLBACK").unwrap();
    drop(holder);
    assert_eq!(scene.open().sessions.len(), 10);
}

#[test]
fn refuses_a_register_that_another_process_has_locked_exclusively() {
    let scene = Scene::new();
    scene.filled();
    let mut child = role("refusals::role_holds_the_register", scene.folder.path())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !scene.companion(".held").exists() {
        assert!(std::time::Instant::now() < deadline, "the other process took no lock");
        std::thread::yield_now();
    }
    let error = scene.refused();
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert!(matches!(error, OpenRegisterError::Locked { .. }), "{error}");
    assert_eq!(scene.open().sessions.len(), 10);
}

#[test]
#[ignore = "started by the test above"]
fn role_holds_the_register() {
    let Some(folder) = role_folder() else { return };
    let path = folder.join("register.db");
    let holder = Connection::open(&path).unwrap();
    holder
        .execute_batch(
            "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; UPDATE home SET opened = 0",
        )
        .unwrap();
    fs::write(folder.join("register.db.held"), "").unwrap();
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).unwrap();
}

#[test]
fn refuses_a_folder() {
    let scene = Scene::new();
    fs::create_dir(scene.path()).unwrap();
    let error = refused_untouched(&scene);
    assert!(matches!(error, OpenRegisterError::NotAFile { .. }), "{error}");
    assert!(scene.path().is_dir());
}

#[test]
fn refuses_a_broken_link() {
    let scene = Scene::new();
    std::os::unix::fs::symlink("/nowhere/at/all", scene.path()).unwrap();
    let error = refused_untouched(&scene);
    assert!(matches!(error, OpenRegisterError::NotAFile { .. }), "{error}");
}

#[test]
fn follows_a_link_to_a_register() {
    let (scene, other) = (Scene::new(), Scene::new());
    other.filled();
    std::os::unix::fs::symlink(other.path(), scene.path()).unwrap();
    let opened = scene.open();
    assert_eq!(opened.sessions.len(), 10);
    wait(opened.register.save(stored(1, Phase::Cleaned), vec![], Durability::Durable)).unwrap();
}

#[test]
fn refuses_a_missing_folder() {
    let scene = Scene::new();
    let path = scene.folder.path().join("no/register.db");
    let error = Register::open(&path, HOME).unwrap_err().to_string();
    assert!(error.contains("No such file"), "{error}");
}

#[test]
fn keeps_a_wal_without_its_database() {
    for suffix in ["-wal", "-journal"] {
        let scene = Scene::new();
        fs::write(scene.companion(suffix), "the newest records").unwrap();
        let error = refused_untouched(&scene);
        assert!(matches!(error, OpenRegisterError::Incomplete { .. }), "{error}");
        fs::write(scene.path(), "").unwrap();
        let error = refused_untouched(&scene);
        assert!(matches!(error, OpenRegisterError::Incomplete { .. }), "{error}");
    }
}

#[test]
fn replaces_an_empty_file_and_the_draft_of_a_crash() {
    let scene = Scene::new();
    for file in ["", ".new", ".new-journal"] {
        fs::write(scene.companion(file), if file.is_empty() { "" } else { "half" }).unwrap();
    }
    scene.filled();
    assert_eq!(scene.open().sessions.len(), 10);
    assert!(!scene.companion(".new").exists());
}

#[test]
fn makes_a_public_register_private() {
    let scene = Scene::new();
    scene.filled();
    fs::set_permissions(scene.path(), fs::Permissions::from_mode(0o644)).unwrap();
    let opened = scene.open();
    for suffix in ["", "-wal"] {
        let mode = scene.companion(suffix).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    opened.register.close();
}

#[test]
fn refuses_a_read_only_disk() {
    let scene = Scene::new();
    if let Some(role) =
        role_with_mounts("refusals::role_opens_on_a_read_only_disk", scene.folder.path())
    {
        must_pass(role);
    }
}

#[test]
#[ignore = "started by the test above, with its own mounts"]
fn role_opens_on_a_read_only_disk() {
    let Some(folder) = role_folder() else { return };
    let disk = folder.join("disk");
    assert!(mount(&disk, &["-t", "tmpfs", "tmpfs"]));
    let path = disk.join("register.db");
    let empty = disk.join("empty.db");
    Register::open(&path, HOME).unwrap().register.close();
    assert!(mount(&disk, &["-o", "remount,ro"]));
    for path in [&path, &empty] {
        let error = Register::open(path, HOME).unwrap_err();
        assert!(matches!(error, OpenRegisterError::Unwritable { .. }), "{error}");
        assert!(error.to_string().contains("kennel rescue"), "{error}");
    }
}

#[test]
fn refuses_a_user_without_write_permission() {
    let scene = Scene::new();
    scene.filled();
    let test = "refusals::role_opens_as_another_user";
    let role = role(test, scene.folder.path());
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    command.arg(role.get_program()).args(role.get_args());
    command.env("KENNEL_REGISTER_ROLE", scene.folder.path());
    let reachable = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "test", "-x"])
        .arg(role.get_program())
        .status();
    if !reachable.is_ok_and(|status| status.success()) {
        return skip(test, "can't run this program as another user");
    }
    fs::set_permissions(scene.folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    must_pass(command);
}

#[test]
#[ignore = "started by the test above, as another user"]
fn role_opens_as_another_user() {
    let Some(folder) = role_folder() else { return };
    for name in ["register.db", "new.db"] {
        let error = Register::open(&folder.join(name), HOME).unwrap_err();
        assert!(matches!(error, OpenRegisterError::Unwritable { .. }), "{error}");
    }
}
