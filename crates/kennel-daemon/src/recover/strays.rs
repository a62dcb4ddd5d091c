//! Strays: processes that carry this home's mark and belong to no live session.
//!
//! There are two marks: the pen, found by its name, and the cookie in the environment, which every
//! descendant inherits. A process with the cookie of a live session that is neither in its pen nor
//! below its keeper was started by another program at the agent's request: it is *outside*. It is
//! shown, but not ended.

use std::collections::HashMap;
use std::io;
use std::time::{Duration, Instant};

use kennel_pen::{HostSupport, Leftover, LeftoverEnd};
use kennel_sys::identity::ProcessStat;
use kennel_sys::pidfd;
use kennel_types::api::{StrayRef, StrayView, StraysEnded, StraysView};
use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::process::Signal;

use crate::os::home::DaemonHome;
use crate::os::{peer, proc};
use crate::recover::census::{LiveSession, SessionCensus};

const STRAYS_TIMEOUT: Duration = Duration::from_secs(2);

/// What a process with this home's mark belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Belongs {
    /// A live session, Kennel itself, or another home.
    Elsewhere,
    Stray,
    Outside,
}

/// Finds the strays. Blocks.
pub(crate) fn find(home: &DaemonHome, census: &SessionCensus) -> io::Result<StraysView> {
    let mut found = StraysView::default();
    for leftover in strayed_pens(home, census)? {
        let session = leftover.name().session.to_string();
        let pids = leftover.pids()?;
        found.strays.extend(pids.into_iter().filter_map(|pid| view(pid, &session, "pen")));
    }
    let parents = proc::parents()?;
    for (pid, session) in marked(home, census)? {
        let place = match belongs(pid, &session, home, census, &parents) {
            Belongs::Elsewhere => continue,
            Belongs::Stray => &mut found.strays,
            Belongs::Outside => &mut found.outside,
        };
        if !place.iter().any(|known| known.pid == pid) {
            place.extend(view(pid, &session, "cookie"));
        }
    }
    Ok(found)
}

pub(crate) enum StraySelection<'a> {
    All,
    Of(&'a str),
    These(&'a [StrayRef]),
}

impl StraySelection<'_> {
    fn has(&self, session: &str, pid: i32) -> bool {
        match self {
            Self::All => true,
            Self::Of(one) => *one == session,
            Self::These(all) => all.iter().any(|it| it.pid == pid && it.session == session),
        }
    }

    /// A pen is ended as a whole: only if all its processes are selected.
    fn has_pen(&self, session: &str, inside: &[i32]) -> bool {
        match self {
            Self::These(_) if inside.is_empty() => false,
            Self::These(_) => inside.iter().all(|pid| self.has(session, *pid)),
            Self::All | Self::Of(_) => self.has(session, 0),
        }
    }
}

/// Ends the selected strays and returns the result. Blocks.
pub(crate) fn end(
    home: &DaemonHome,
    census: &SessionCensus,
    selected: &StraySelection<'_>,
) -> io::Result<StraysEnded> {
    let mut strays = find(home, census)?.strays;
    strays.retain(|stray| selected.has(&stray.session, stray.pid));
    let deadline = Instant::now() + STRAYS_TIMEOUT;
    for leftover in strayed_pens(home, census)? {
        if !selected.has_pen(leftover.name().session.as_str(), &leftover.pids()?) {
            continue;
        }
        if let LeftoverEnd::StillAlive(pids) = leftover.end(deadline)? {
            tracing::warn!(pen = %leftover.name(), ?pids, "can't end a stray pen yet");
        }
    }
    let (ended, still_alive) = strays.into_iter().partition(|stray| {
        end_one(stray, home, deadline).unwrap_or_else(|error| {
            tracing::warn!(pid = stray.pid, %error, "can't end a stray");
            false
        })
    });
    Ok(StraysEnded { ended, still_alive })
}

/// Returns the pens whose owner is dead and whose session is not live.
pub(crate) fn strayed_pens(home: &DaemonHome, census: &SessionCensus) -> io::Result<Vec<Leftover>> {
    let mut pens = HostSupport::leftovers(&home.id).map_err(io::Error::other)?;
    pens.retain(|pen| !census.live.contains_key(pen.name().session.as_str()));
    Ok(pens)
}

/// Returns the processes that have the cookie of this home, with the session that it names.
fn marked(home: &DaemonHome, census: &SessionCensus) -> io::Result<Vec<(i32, String)>> {
    let own = rustix::process::geteuid();
    let mut marked = Vec::new();
    for pid in proc::pids()? {
        let ours = own.is_root() || proc::uid(pid) == Some(own.as_raw());
        if !ours || census.own.contains(&pid) {
            continue;
        }
        // A process whose environment can't be read is not judged.
        if let Ok(Some((home_id, session))) = proc::cookies(pid)
            && home_id == home.id.as_str()
        {
            marked.push((pid, session));
        }
    }
    Ok(marked)
}

fn belongs(
    pid: i32,
    session: &str,
    home: &DaemonHome,
    census: &SessionCensus,
    parents: &HashMap<i32, i32>,
) -> Belongs {
    // A process in a pen of this home is handled with that pen.
    if peer::in_pen(pid, home).is_some() {
        return Belongs::Elsewhere;
    }
    match census.live.get(session) {
        None => Belongs::Stray,
        Some(session) if session.lost => Belongs::Stray,
        // Without a keeper it can't be decided; the session is being probed.
        Some(LiveSession { keeper: None, .. }) => Belongs::Elsewhere,
        Some(LiveSession { keeper: Some(keeper), .. }) => {
            let inside = proc::descends(pid, *keeper, parents);
            if inside { Belongs::Elsewhere } else { Belongs::Outside }
        }
    }
}

fn view(pid: i32, session: &str, mark: &str) -> Option<StrayView> {
    let stat = ProcessStat::read(pid).ok().flatten().filter(|stat| !stat.is_dead())?;
    Some(StrayView {
        pid,
        name: stat.name,
        command: proc::command(pid),
        session: session.to_owned(),
        mark: mark.to_owned(),
    })
}

/// Ends one stray if it is still the same process; returns whether it is gone.
fn end_one(stray: &StrayView, home: &DaemonHome, deadline: Instant) -> io::Result<bool> {
    let Some(handle) = pidfd::open(stray.pid)? else { return Ok(true) };
    if pidfd::has_ended(handle.as_fd())? {
        return Ok(true);
    }
    // The pid may have been reused: the mark is checked again with the handle open. A process from
    // a pen was ended with the pen.
    let marked = proc::cookies(stray.pid)?
        .is_some_and(|(id, session)| id == home.id.as_str() && session == stray.session);
    if !marked || !pidfd::exists(handle.as_fd()) {
        return Ok(stray.mark == "cookie" || ProcessStat::read(stray.pid)?.is_none());
    }
    let _sent_or_not = pidfd::send(&handle, Signal::KILL)?;
    wait_ended(&handle, deadline)
}

fn wait_ended(handle: &OwnedFd, deadline: Instant) -> io::Result<bool> {
    let left = deadline.saturating_duration_since(Instant::now());
    let timeout = left.try_into().map_err(io::Error::other)?;
    let mut ended = [PollFd::new(handle, PollFlags::IN)];
    Ok(rustix::event::poll(&mut ended, Some(&timeout))? > 0)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use kennel_pen::{HOME_COOKIE, HomeId, SESSION_COOKIE};

    use super::*;

    /// A process with the cookie of this home and session.
    fn marked(home: &DaemonHome, session: &str) -> std::process::Child {
        let mut command = Command::new("sleep");
        command.arg("1000").env(HOME_COOKIE, home.id.as_str()).env(SESSION_COOKIE, session);
        command.spawn().unwrap()
    }

    fn pid(child: &std::process::Child) -> i32 {
        i32::try_from(child.id()).unwrap()
    }

    #[test]
    fn ends_only_marked_processes_without_a_session() {
        let home = DaemonHome { folder: "/none".into(), id: HomeId::random().unwrap() };
        let other = DaemonHome { folder: "/other".into(), id: HomeId::random().unwrap() };
        let mut stray = marked(&home, "gone");
        let mut foreign = marked(&other, "gone");
        let mut kept = marked(&home, "live");
        let mut outside = marked(&home, "away");
        let mut census = SessionCensus::default();
        let own = rustix::process::getpid().as_raw_pid();
        let below_us = LiveSession { keeper: Some(own), lost: false };
        let below_init = LiveSession { keeper: Some(i32::MAX), lost: false };
        census.live.insert("live".into(), below_us);
        census.live.insert("away".into(), below_init);
        let pids = |views: &[StrayView]| views.iter().map(|v| v.pid).collect::<Vec<_>>();
        // A child has this process's environment until its exec.
        let deadline = Instant::now() + Duration::from_secs(20);
        let found = loop {
            let found = find(&home, &census).unwrap();
            if found.strays.len() + found.outside.len() == 2 || Instant::now() > deadline {
                break found;
            }
        };
        assert_eq!(pids(&found.strays), [pid(&stray)]);
        assert_eq!(pids(&found.outside), [pid(&outside)]);
        assert_eq!(found.strays[0].mark, "cookie");
        // Processes that are not named, or only have the pid of another, are left alone.
        let only = |session: &str| StrayRef { pid: pid(&stray), session: session.to_owned() };
        for others in [vec![], vec![only("other")]] {
            let selected = StraySelection::These(&others);
            assert_eq!(end(&home, &census, &selected).unwrap(), StraysEnded::default());
        }
        let named = [only("gone"), StrayRef { pid: pid(&outside), ..only("away") }];
        let ended = end(&home, &census, &StraySelection::These(&named)).unwrap();
        assert_eq!(pids(&ended.ended), [pid(&stray)]);
        assert!(ended.still_alive.is_empty());
        stray.wait().unwrap();
        for child in [&mut foreign, &mut kept, &mut outside] {
            assert!(child.try_wait().unwrap().is_none(), "only strays are ended");
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    #[test]
    fn ends_what_is_left_of_a_lost_session() {
        let home = DaemonHome { folder: "/none".into(), id: HomeId::random().unwrap() };
        let mut child = marked(&home, "lost");
        let mut census = SessionCensus::default();
        census.live.insert("lost".into(), LiveSession { keeper: None, lost: true });
        let deadline = Instant::now() + Duration::from_secs(20);
        while find(&home, &census).unwrap().strays.is_empty() && Instant::now() < deadline {}
        assert_eq!(end(&home, &census, &StraySelection::All).unwrap().ended.len(), 1);
        child.wait().unwrap();
    }
}
