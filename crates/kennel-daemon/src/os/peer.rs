//! The process at the other end of a connection, and the launch that it belongs to.

use std::fmt;

use kennel_pen::PenName;

use crate::os::home::DaemonHome;
use crate::os::proc;

/// A process that sends a request. Its pid may have been reused: nothing is done to the process
/// with that pid, only to processes with the mark of the session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Caller {
    pub(crate) pid: Option<i32>,
    pub(crate) session: Option<String>,
}

impl Caller {
    /// Finds its launch by its pen, its cookie, or the keeper above it. Blocks.
    pub(crate) fn find<'a>(
        pid: i32,
        home: &DaemonHome,
        keepers: impl IntoIterator<Item = (&'a str, i32)>,
    ) -> Self {
        let session = in_pen(pid, home)
            .or_else(|| by_cookie(pid, home))
            .or_else(|| below_keeper(pid, keepers));
        Self { pid: Some(pid), session }
    }
}

/// Returns the session of the innermost pen that a process is in: a session may run in the pen of
/// another.
pub(crate) fn in_pen(pid: i32, home: &DaemonHome) -> Option<String> {
    let cgroup = proc::cgroup(pid)?;
    let mut pens = cgroup.split('/').filter_map(PenName::parse).filter(|pen| pen.home == home.id);
    pens.next_back().map(|pen| pen.session.to_string())
}

fn by_cookie(pid: i32, home: &DaemonHome) -> Option<String> {
    let (home_id, session) = proc::cookies(pid).ok()??;
    (home_id == home.id.as_str()).then_some(session)
}

fn below_keeper<'a>(pid: i32, keepers: impl IntoIterator<Item = (&'a str, i32)>) -> Option<String> {
    let parents = proc::parents().ok()?;
    let above = |(_, keeper): &(&str, i32)| proc::descends(pid, *keeper, &parents);
    keepers.into_iter().find(above).map(|(session, _)| session.to_owned())
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.pid, &self.session) {
            (Some(pid), Some(session)) => write!(f, "pid {pid} of session {session}"),
            (Some(pid), None) => write!(f, "pid {pid}, which belongs to no session"),
            (None, _) => f.write_str("an unknown process"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};
    use std::time::{Duration, Instant};

    use kennel_pen::{HOME_COOKIE, HomeId, SESSION_COOKIE};

    use super::*;

    fn sleeper(home: &HomeId, session: &str) -> (Child, i32) {
        let mut command = Command::new("sleep");
        command.arg("1000").env(HOME_COOKIE, home.as_str()).env(SESSION_COOKIE, session);
        let child = command.spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        // It has this process's environment until its exec.
        let deadline = Instant::now() + Duration::from_secs(20);
        while proc::cookies(pid).unwrap().is_none() && Instant::now() < deadline {}
        (child, pid)
    }

    #[test]
    fn finds_a_launch_by_its_cookie_or_its_keeper() {
        let home = DaemonHome { folder: "/none".into(), id: HomeId::random().unwrap() };
        let other = HomeId::random().unwrap();
        let (mut ours, our_pid) = sleeper(&home.id, "abc");
        let (mut foreign, foreign_pid) = sleeper(&other, "abc");
        assert_eq!(Caller::find(our_pid, &home, []).session.as_deref(), Some("abc"));
        assert_eq!(Caller::find(foreign_pid, &home, []).session, None);
        let own = rustix::process::getpid().as_raw_pid();
        assert_eq!(
            Caller::find(foreign_pid, &home, [("def", own)]).session.as_deref(),
            Some("def")
        );
        for child in [&mut ours, &mut foreign] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}
