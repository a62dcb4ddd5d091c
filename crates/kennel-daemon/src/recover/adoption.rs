//! Adoption: which sessions of a former daemon have not been probed yet.

use std::collections::HashSet;
use std::sync::Arc;

use kennel_keeper::fault::point;
use kennel_types::SessionId;
use tokio::sync::{Semaphore, oneshot};

const PROBES: usize = 64;

#[derive(Debug)]
pub(crate) struct Adoption {
    pub(crate) permits: Arc<Semaphore>,
    pending: HashSet<SessionId>,
    /// Notified when every session was probed once.
    done: Option<oneshot::Sender<()>>,
    /// Whether the machine was restarted since the home's last daemon ran.
    pub(crate) rebooted: bool,
}

impl Adoption {
    pub(crate) fn new(done: oneshot::Sender<()>, rebooted: bool) -> Self {
        let permits = Arc::new(Semaphore::new(PROBES));
        Self { permits, pending: HashSet::new(), done: Some(done), rebooted }
    }

    /// These sessions have to be probed. [`Adoption::report_if_done`] must follow.
    pub(crate) fn begin(&mut self, pending: HashSet<SessionId>) {
        self.pending = pending;
    }

    pub(crate) fn probed(&mut self, id: &SessionId) {
        self.pending.remove(id);
        self.report_if_done();
    }

    pub(crate) fn is_pending(&self, id: &SessionId) -> bool {
        self.pending.contains(id)
    }

    pub(crate) fn pending_count(&self) -> usize {
        self.pending.len()
    }

    pub(crate) fn report_if_done(&mut self) {
        if self.pending.is_empty()
            && let Some(done) = self.done.take()
        {
            point("daemon.adopt.done");
            // The receiver may have stopped waiting.
            done.send(()).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use kennel_types::IdMaker;

    use super::*;

    #[test]
    fn reports_when_every_session_was_probed() {
        let (done, mut reported) = oneshot::channel();
        let mut ids = IdMaker::default();
        let (first, second) = (ids.next(1, 1), ids.next(2, 2));
        let mut adoption = Adoption::new(done, false);
        adoption.begin(HashSet::from([first.clone(), second.clone()]));
        adoption.probed(&first);
        assert!(reported.try_recv().is_err() && adoption.is_pending(&second));
        adoption.probed(&second);
        assert_eq!(reported.try_recv(), Ok(()));
    }

    #[test]
    fn reports_at_once_without_sessions() {
        let (done, mut reported) = oneshot::channel();
        let mut adoption = Adoption::new(done, false);
        adoption.begin(HashSet::new());
        adoption.report_if_done();
        assert_eq!(reported.try_recv(), Ok(()));
    }
}
