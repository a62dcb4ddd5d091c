//! Whether this very process is inside a session of the home.
//!
//! What an agent starts through Kennel has the agent's session for a parent. And a yard must never be
//! started in there: it would end with the session that it is to look after.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use kennel_pen::{HOME_COOKIE, PenName, SESSION_COOKIE};
use kennel_sys::identity::ProcessStat;

use crate::home::Home;

/// A session that we are in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Inside {
    /// Its id, where it can be told.
    pub(crate) session: Option<String>,
    /// By what it is known.
    pub(crate) mark: &'static str,
}

/// The session of this home that we are in, if we are: by our cookie, by our cgroup, or by those above us,
/// since an agent may clear the environment of what it starts.
pub(crate) fn find(home: &Home) -> Option<Inside> {
    let id = home.id.as_str();
    let variable = |name| std::env::var(name).ok();
    if variable(HOME_COOKIE).as_deref() == Some(id) {
        return Some(Inside {
            session: variable(SESSION_COOKIE),
            mark: "its cookie is in our environment",
        });
    }
    let cgroup = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    if let Some(session) = session_in_cgroup(&cgroup, id) {
        return Some(Inside { session: Some(session), mark: "we are in its cgroup" });
    }
    ancestors().find_map(|pid| marked(pid, home))
}

/// The innermost session of the home in the text of `/proc/PID/cgroup`.
fn session_in_cgroup(text: &str, home: &str) -> Option<String> {
    let mut pens = text.lines().flat_map(|line| line.split('/')).filter_map(PenName::parse);
    pens.rfind(|pen| pen.home.as_str() == home).map(|pen| pen.session.to_string())
}

/// The pids above us, the nearest first. ForegroundStreams at what can't be looked at.
fn ancestors() -> impl Iterator<Item = i32> {
    let parent = |pid: i32| ProcessStat::read(pid).ok().flatten().map(|stat| stat.parent);
    let own = rustix::process::getpid().as_raw_pid();
    std::iter::successors(parent(own), move |pid| parent(*pid)).take_while(|pid| *pid > 1)
}

fn marked(pid: i32, home: &Home) -> Option<Inside> {
    let read = |file| fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let environment = read("environ");
    if value(&environment, HOME_COOKIE) == Some(home.id.as_str()) {
        let session = value(&environment, SESSION_COOKIE).map(ToOwned::to_owned);
        return Some(Inside { session, mark: "its cookie is in the environment of one above us" });
    }
    let name = read("comm");
    let keeps = name.starts_with(b"kennel-keeper") || name.starts_with(b"kennel-yard");
    (keeps && (names_folder(&read("cmdline"), &home.folder) || holds_file_in(pid, &home.folder)))
        .then_some(Inside { session: None, mark: "a keeper of this home is above us" })
}

/// The value of a variable in the text of `/proc/PID/environ`.
pub(crate) fn value<'a>(environment: &'a [u8], name: &str) -> Option<&'a str> {
    let lines = environment.split(|byte| *byte == 0);
    let values = lines.filter_map(|line| line.strip_prefix(name.as_bytes())?.strip_prefix(b"="));
    values.filter_map(|value| std::str::from_utf8(value).ok()).next()
}

/// Whether the process has a file open below the folder, as a keeper has the lock of its launch.
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
    fn the_innermost_pen_of_the_home_is_found_in_a_cgroup() {
        let text =
            format!("0::/user.slice/kennel-{ID}-aaa/kennel-fedcba9876543210-x/kennel-{ID}-bbb\n");
        assert_eq!(session_in_cgroup(&text, ID), Some("bbb".into()));
        assert_eq!(session_in_cgroup(&text, "fedcba9876543210"), Some("x".into()));
        assert_eq!(session_in_cgroup(&text, "0000000000000000"), None);
        assert_eq!(session_in_cgroup("0::/\n", ID), None);
    }

    #[test]
    fn a_cookie_is_found_by_its_whole_name() {
        let text = b"A=1\0XKENNEL_HOME_ID=no\0KENNEL_HOME_ID=yes\0KENNEL_HOME_ID_X=no\0";
        assert_eq!(value(text, HOME_COOKIE), Some("yes"));
        assert_eq!(value(text, SESSION_COOKIE), None);
        assert_eq!(value(b"", HOME_COOKIE), None);
    }

    #[test]
    fn a_command_names_a_folder_by_a_whole_word() {
        let command = b"kennel-yard\0/home/u/.local/state/kennel\0";
        assert!(names_folder(command, Path::new("/home/u/.local/state/kennel")));
        assert!(!names_folder(command, Path::new("/home/u/.local/state")));
    }

    #[test]
    fn a_process_is_known_by_a_file_that_it_holds() {
        let folder = tempfile::tempdir().unwrap();
        let own = rustix::process::getpid().as_raw_pid();
        assert!(!holds_file_in(own, folder.path()));
        let _lock = fs::File::create(folder.path().join("lock")).unwrap();
        assert!(holds_file_in(own, folder.path()));
    }

    #[test]
    fn those_above_us_can_be_listed() {
        assert_ne!(ancestors().next(), None);
    }
}
