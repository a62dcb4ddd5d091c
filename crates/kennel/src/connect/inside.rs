//! Detects whether this process is inside a session of the home.
//!
//! A session that an agent starts has the agent's session as its parent. And a yard must never be
//! started inside a session: it would end with the session.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use kennel_pen::{HOME_COOKIE, PenName, SESSION_COOKIE};
use kennel_sys::identity::ProcessStat;

use crate::command_prelude::*;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Inside {
    pub(crate) session: Option<String>,
    /// How it was detected.
    pub(crate) mark: &'static str,
}

/// Finds the session of this home that contains this process: by our cookie, our cgroup, or our
/// ancestors, since an agent may clear the environment of its children.
pub(crate) fn find(home: &HomeDir) -> Option<Inside> {
    let id = home.id.as_str();
    let variable = |name| std::env::var(name).ok();
    if variable(HOME_COOKIE).as_deref() == Some(id) {
        return Some(Inside {
            session: variable(SESSION_COOKIE),
            mark: "its cookie is in the environment",
        });
    }
    let cgroup = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    if let Some(session) = session_in_cgroup(&cgroup, id) {
        return Some(Inside { session: Some(session), mark: "this process is in its cgroup" });
    }
    ancestors().find_map(|pid| marked(pid, home))
}

/// Finds the innermost session of the home in the text of `/proc/PID/cgroup`.
fn session_in_cgroup(text: &str, home: &str) -> Option<String> {
    let mut pens = text.lines().flat_map(|line| line.split('/')).filter_map(PenName::parse);
    pens.rfind(|pen| pen.home.as_str() == home).map(|pen| pen.session.to_string())
}

/// Returns the pids of our ancestors, the nearest first, up to one that can't be read.
fn ancestors() -> impl Iterator<Item = i32> {
    let parent = |pid: i32| ProcessStat::read(pid).ok().flatten().map(|stat| stat.parent);
    let own = rustix::process::getpid().as_raw_pid();
    std::iter::successors(parent(own), move |pid| parent(*pid)).take_while(|pid| *pid > 1)
}

fn marked(pid: i32, home: &HomeDir) -> Option<Inside> {
    let read = |file| fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let environment = read("environ");
    if value(&environment, HOME_COOKIE) == Some(home.id.as_str()) {
        let session = value(&environment, SESSION_COOKIE).map(ToOwned::to_owned);
        return Some(Inside { session, mark: "its cookie is in the environment of an ancestor" });
    }
    let name = read("comm");
    let is_keeper = name.starts_with(b"kennel-keeper") || name.starts_with(b"kennel-yard");
    (is_keeper
        && (names_folder(&read("cmdline"), &home.folder) || holds_file_in(pid, &home.folder)))
    .then_some(Inside { session: None, mark: "a keeper of this home is an ancestor" })
}

/// Finds the value of a variable in the text of `/proc/PID/environ`.
pub(crate) fn value<'a>(environment: &'a [u8], name: &str) -> Option<&'a str> {
    let lines = environment.split(|byte| *byte == 0);
    let values = lines.filter_map(|line| line.strip_prefix(name.as_bytes())?.strip_prefix(b"="));
    values.filter_map(|value| std::str::from_utf8(value).ok()).next()
}

/// Whether the process has a file open in the folder, as a keeper has the lock of its launch.
pub(crate) fn holds_file_in(pid: i32, folder: &Path) -> bool {
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    files.filter_map(|file| fs::read_link(file.path()).ok()).any(|path| path.starts_with(&folder))
}

fn names_folder(command: &[u8], folder: &Path) -> bool {
    command.split(|byte| *byte == 0).any(|word| Path::new(OsStr::from_bytes(word)) == folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef";

    #[test]
    fn finds_the_innermost_pen_of_the_home_in_a_cgroup() {
        let text =
            format!("0::/user.slice/kennel-{ID}-aaa/kennel-fedcba9876543210-x/kennel-{ID}-bbb\n");
        assert_eq!(session_in_cgroup(&text, ID), Some("bbb".into()));
        assert_eq!(session_in_cgroup(&text, "fedcba9876543210"), Some("x".into()));
        assert_eq!(session_in_cgroup(&text, "0000000000000000"), None);
        assert_eq!(session_in_cgroup("0::/\n", ID), None);
    }

    #[test]
    fn finds_a_cookie_by_its_whole_name() {
        let text = b"A=1\0XKENNEL_HOME_ID=no\0KENNEL_HOME_ID=yes\0KENNEL_HOME_ID_X=no\0";
        assert_eq!(value(text, HOME_COOKIE), Some("yes"));
        assert_eq!(value(text, SESSION_COOKIE), None);
        assert_eq!(value(b"", HOME_COOKIE), None);
    }

    #[test]
    fn matches_a_folder_as_a_whole_argument() {
        let command = b"kennel-yard\0/home/u/.local/state/kennel\0";
        assert!(names_folder(command, Path::new("/home/u/.local/state/kennel")));
        assert!(!names_folder(command, Path::new("/home/u/.local/state")));
    }

    #[test]
    fn recognises_a_process_by_an_open_file() {
        let folder = tempfile::tempdir().unwrap();
        let own = rustix::process::getpid().as_raw_pid();
        assert!(!holds_file_in(own, folder.path()));
        let _lock = fs::File::create(folder.path().join("lock")).unwrap();
        assert!(holds_file_in(own, folder.path()));
    }

    #[test]
    fn lists_ancestors() {
        assert_ne!(ancestors().next(), None);
    }
}
