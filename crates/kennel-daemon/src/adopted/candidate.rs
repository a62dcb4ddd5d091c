//! A process that a user started, and whether it may become a session.

use std::time::Duration;

use kennel_sys::identity::{self, ProcessIdentity, ProcessStat};
use kennel_sys::pidfd;
use kennel_types::api::AdoptRequest;
use kennel_types::{SessionSpec, Title};
use rustix::fd::{AsFd, OwnedFd};
use rustix::time::{ClockId, clock_gettime};

use crate::error::ApiError;
use crate::launch::request::check_name;
use crate::os::clock;
use crate::os::home::DaemonHome;
use crate::os::peer::Caller;
use crate::os::proc;
use crate::recover::census::SessionCensus;

/// The grace between TERM and KILL if the stop request has none.
const GRACE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct AdoptionCandidate {
    pub(crate) identity: ProcessIdentity,
    pub(crate) spec: SessionSpec,
    pub(crate) title: Option<Title>,
    pub(crate) started_ms: Option<u64>,
}

impl AdoptionCandidate {
    /// Checks the process and the client that requests the adoption. Blocks.
    pub(crate) fn find(
        request: AdoptRequest,
        caller: &Caller,
        home: &DaemonHome,
        census: &SessionCensus,
    ) -> Result<Self, ApiError> {
        if let Some(name) = &request.name {
            check_name(name)?;
        }
        if let Some(session) = &caller.session {
            let text = format!(
                "the request comes from inside session {session}, which already owns its processes"
            );
            return Err(ApiError::conflict(text)
                .hint("adopt the process from a terminal outside any session"));
        }
        let pid = request.pid;
        check_pid(pid, census)?;
        let (identity, handle) = open(pid, request.identity.as_deref())?;
        let info = pidfd::info(handle.as_fd(), pid).map_err(ApiError::internal)?;
        let uid = info.ok_or_else(|| no_such_process(pid))?.uid;
        let own = rustix::process::geteuid().as_raw();
        if uid != own {
            let text = format!("pid {pid} belongs to user {uid}, and this home to user {own}");
            return Err(ApiError::conflict(text).hint("only that user can adopt it"));
        }
        if let Some(session) = Caller::find(pid, home, census.keepers()).session {
            let text = format!("pid {pid} already belongs to session {session}");
            return Err(ApiError::conflict(text).hint(format!("`kennel inspect {session}`")));
        }
        let spec = SessionSpec {
            name: request.name,
            argv: proc::arguments(pid),
            cwd: proc::folder(pid).unwrap_or_else(|| "/".to_owned()),
            grace: GRACE,
            asked_by: request.by,
            ..SessionSpec::default()
        };
        let started_ms = started_ms(pid);
        // The pid was not reused while it was checked.
        if pidfd::has_ended(handle.as_fd()).map_err(ApiError::internal)? {
            return Err(no_such_process(pid));
        }
        Ok(Self { identity, spec, title: request.title, started_ms })
    }
}

fn check_pid(pid: i32, census: &SessionCensus) -> Result<(), ApiError> {
    if pid < 1 {
        return Err(ApiError::invalid(format!("invalid pid {pid}: expected a number from 2 on")));
    }
    if pid == 1 {
        return Err(ApiError::conflict("pid 1 is the machine's init process, not an agent")
            .hint("name the pid of the agent, or of its shell"));
    }
    if census.own.contains(&pid) {
        return Err(ApiError::conflict(format!(
            "pid {pid} belongs to Kennel itself: the daemon, the yard or a keeper"
        )));
    }
    Ok(())
}

/// Returns the requested process and a handle to it, if it exists.
fn open(pid: i32, identity: Option<&str>) -> Result<(ProcessIdentity, OwnedFd), ApiError> {
    let Some(text) = identity else {
        let handle =
            pidfd::open(pid).map_err(ApiError::internal)?.ok_or_else(|| no_such_process(pid))?;
        let gone = Some(rustix::io::Errno::SRCH.raw_os_error());
        return match ProcessIdentity::new(handle.as_fd(), pid) {
            Err(error) if error.raw_os_error() == gone => Err(no_such_process(pid)),
            identity => Ok((identity.map_err(ApiError::internal)?, handle)),
        };
    };
    let identity = ProcessIdentity::parse(text).filter(|identity| identity.pid == pid);
    let identity = identity
        .ok_or_else(|| ApiError::invalid(format!("invalid identity {text:?} for pid {pid}")))?;
    if identity.pid_namespace != identity::pid_namespace().map_err(ApiError::internal)? {
        let text = format!("pid {pid} is in another pid namespace than the daemon");
        return Err(ApiError::conflict(text));
    }
    let handle =
        identity.open().map_err(ApiError::internal)?.ok_or_else(|| no_such_process(pid))?;
    Ok((identity, handle))
}

fn no_such_process(pid: i32) -> ApiError {
    ApiError::not_found(format!("there is no process {pid}, or it has ended"))
}

fn started_ms(pid: i32) -> Option<u64> {
    let stat = ProcessStat::read(pid).ok().flatten()?;
    let now = Duration::try_from(clock_gettime(ClockId::Boottime)).ok()?;
    let millis = stat.started.saturating_mul(1000) / rustix::param::clock_ticks_per_second().max(1);
    let age = now.checked_sub(Duration::from_millis(millis)).unwrap_or_default();
    Some(clock::now_ms().saturating_sub(u64::try_from(age.as_millis()).ok()?))
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use kennel_pen::HomeId;
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

    use super::*;
    use crate::recover::census::LiveSession;

    fn home() -> DaemonHome {
        DaemonHome { folder: "/none".into(), id: HomeId::random().unwrap() }
    }

    fn sleeper() -> (Child, i32) {
        let child = Command::new("sleep").arg("1000").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        (child, pid)
    }

    fn find(request: AdoptRequest, census: &SessionCensus) -> Result<AdoptionCandidate, String> {
        let found = AdoptionCandidate::find(request, &Caller::default(), &home(), census);
        found.map_err(|refused| refused.problem().detail)
    }

    #[test]
    fn accepts_a_process_of_the_same_user_and_recognizes_it_again() {
        let (mut child, pid) = sleeper();
        let census = SessionCensus::default();
        let request = AdoptRequest { pid, ..AdoptRequest::default() };
        let found = find(request.clone(), &census).unwrap();
        assert!(!found.spec.argv.is_empty());
        assert!(found.started_ms.unwrap().abs_diff(clock::now_ms()) < 60_000);
        let identity = Some(found.identity.to_record());
        let same = find(AdoptRequest { identity, ..request.clone() }, &census).unwrap();
        assert_eq!(same.identity, found.identity);
        let text = found.identity.to_record();
        let (start, _) = text.rsplit_once(' ').unwrap();
        let another = Some(format!("{start} 1"));
        let refused = find(AdoptRequest { identity: another, ..request.clone() }, &census);
        assert!(refused.unwrap_err().contains("there is no process"));
        child.kill().unwrap();
        let dies = WaitId::Pid(Pid::from_raw(pid).unwrap());
        waitid(dies, WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
        // First a zombie, then no process.
        assert!(find(request.clone(), &census).is_err());
        child.wait().unwrap();
        assert!(find(request, &census).unwrap_err().contains("there is no process"));
    }

    #[test]
    fn explains_why_a_process_cant_be_adopted() {
        let (mut child, pid) = sleeper();
        let mut census = SessionCensus::default();
        census.own.insert(pid);
        let asking = |pid| AdoptRequest { pid, ..AdoptRequest::default() };
        for (request, why) in [
            (asking(0), "invalid pid 0"),
            (asking(-7), "invalid pid -7"),
            (asking(1), "init process"),
            (asking(pid), "belongs to Kennel itself"),
            (AdoptRequest { name: Some("a b".into()), ..asking(pid) }, "invalid session name"),
        ] {
            let refused = find(request, &census).unwrap_err();
            assert!(refused.contains(why), "{why}: {refused}");
        }
        let mut census = SessionCensus::default();
        let nonsense = AdoptRequest { identity: Some("it".into()), ..asking(pid) };
        assert!(find(nonsense, &census).unwrap_err().contains("invalid identity"));
        let own = rustix::process::getpid().as_raw_pid();
        census.live.insert("abc".into(), LiveSession { keeper: Some(own), lost: false });
        assert!(find(asking(pid), &census).unwrap_err().contains("already belongs to session abc"));
        let inside = Caller { pid: Some(pid), session: Some("abc".into()) };
        let refused =
            AdoptionCandidate::find(asking(pid), &inside, &home(), &SessionCensus::default());
        assert!(refused.unwrap_err().problem().detail.contains("inside session abc"));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
