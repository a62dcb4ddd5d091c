//! Deadlines of keepers, retries, and overdue stop requests.

use std::time::{Duration, Instant};

use kennel_core::Event;
use kennel_keeper::protocol::KeeperRequest;
use kennel_sys::pidfd;
use kennel_types::SessionId;
use rustix::fd::AsFd;
use rustix::process::Signal;

use super::Owner;
use super::launches::Runtime;
use crate::keeper::deadline::Deadline;
use crate::keeper::process;
use crate::os::AbortOnDrop;
use crate::owner::waiters::SessionProgress;

impl Owner {
    /// Starts the deadline of something that the session's keeper owes; `extra` is added to the
    /// default time.
    pub(super) fn arm(&mut self, id: &SessionId, deadline: Deadline, extra: Duration) {
        let (bus, session) = (self.bus.clone(), id.clone());
        let Some(runtime) = self.launches.get_mut(id) else { return };
        runtime.clear_deadline(deadline);
        let socket = runtime.link.as_ref().map(|link| link.socket.clone());
        let keeper = runtime.keeper_pid.zip(socket).filter(|_| deadline.wakes());
        let yard = self.keepers.yard().clone();
        let half = (deadline.timeout() + extra) / 2;
        let timer = AbortOnDrop::spawn(async move {
            tokio::time::sleep(half).await;
            // The yard or the keeper may have been stopped (SIGSTOP): they get a SIGCONT.
            if let Ok(Some(yard)) = yard.open() {
                pidfd::send(yard, Signal::CONT).ok();
            }
            if let Some((pid, socket)) = &keeper
                && let Ok(Some(handle)) = process::open(*pid, socket.get_ref().as_fd())
            {
                pidfd::send(handle, Signal::CONT).ok();
            }
            tokio::time::sleep(half).await;
            bus.call(move |owner| owner.late(&session, deadline));
        });
        runtime.deadlines.push((deadline, timer));
    }

    fn late(&mut self, id: &SessionId, deadline: Deadline) {
        let Some(runtime) = self.launches.get_mut(id) else { return };
        if !runtime.deadlines.iter().any(|(armed, _)| *armed == deadline) {
            return; // it was met just now
        }
        runtime.clear_deadline(deadline);
        match deadline {
            Deadline::Finished => {
                let Some(link) = &runtime.link else { return };
                link.send(KeeperRequest::Status);
                self.arm(id, Deadline::Answer, Duration::ZERO);
            }
            Deadline::Departed => self.end_released_keeper(id),
            _ => {
                tracing::warn!(session = %id, "{}", deadline.missing());
                self.apply(id, &Event::KeeperLost);
            }
        }
    }

    /// Kills a keeper that does not leave. Everything is on record, so nothing is lost.
    fn end_released_keeper(&mut self, id: &SessionId) {
        let Some(runtime) = self.launches.get(id) else { return };
        let (Some(pid), Some(link)) = (runtime.keeper_pid, &runtime.link) else { return };
        let killed = process::open(pid, link.socket.get_ref().as_fd())
            .and_then(|handle| handle.map(|h| pidfd::send(h, Signal::KILL)).transpose());
        tracing::warn!(session = %id, ?killed, "{}", Deadline::Departed.missing());
    }

    pub(super) fn retry_later(&mut self, id: &SessionId) {
        let Some(pause) = self.launches.get_mut(id).map(Runtime::next_pause) else { return };
        let session = id.clone();
        let timer = self.bus.timer(pause, move |owner| owner.retry_due(&session));
        self.launches.update(id, |runtime| runtime.retry = Some(timer));
    }

    fn retry_due(&mut self, id: &SessionId) {
        self.launches.update(id, |runtime| runtime.retry = None);
        self.apply(id, &Event::RetryDue);
    }

    /// Tries again at once: a stop request does not wait for the pause.
    pub(super) fn retry_now(&mut self, id: &SessionId) {
        let retry = self.launches.get_mut(id).and_then(|runtime| runtime.retry.take());
        if retry.is_some() {
            self.retry_due(id);
        }
    }

    /// Answers the stop requests that have waited long enough; the stop continues.
    pub(super) fn stop_overdue(&mut self, id: &SessionId) {
        let now = Instant::now();
        let Some(runtime) = self.launches.get_mut(id) else { return };
        let due: Vec<_> = runtime.waiters.extract_if(.., |waiter| waiter.is_overdue(now)).collect();
        let Some(view) = self.view(id) else { return };
        for waiter in due {
            waiter.answer(view.clone(), SessionProgress::Stuck);
        }
    }
}
