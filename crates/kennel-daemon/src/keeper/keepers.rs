//! The yard and its keepers, as far as the daemon knows them.

use std::collections::{HashMap, VecDeque};

use kennel_keeper::protocol::YardRequest;
use kennel_sys::identity::ProcessIdentity;
use kennel_types::SessionId;
use rustix::fd::OwnedFd;
use tokio::sync::oneshot;

use crate::keeper::spares::SpareKeepers;
use crate::keeper::yard::{YardKeepers, YardOrder, YardSender};

/// Which keepers exist, which were requested, and how to reach the yard.
#[derive(Debug)]
pub(crate) struct Keepers {
    yard: ProcessIdentity,
    /// None once the yard is gone.
    sender: Option<YardSender>,
    /// Forks that the yard was asked for and has not answered, by key.
    pub(crate) forks: HashMap<u64, SessionId>,
    pub(crate) by_pid: HashMap<i32, SessionId>,
    pub(crate) spares: SpareKeepers,
    /// Pending requests for the yard's list of keepers, in order.
    list_requests: VecDeque<oneshot::Sender<YardKeepers>>,
    last_number: u64,
}

impl Keepers {
    pub(crate) fn new(yard: ProcessIdentity, sender: Option<YardSender>) -> Self {
        Self {
            yard,
            sender,
            forks: HashMap::new(),
            by_pid: HashMap::new(),
            spares: SpareKeepers::default(),
            list_requests: VecDeque::new(),
            last_number: 0,
        }
    }

    /// Returns the identity of the yard's process, even after it has died.
    pub(crate) fn yard(&self) -> &ProcessIdentity {
        &self.yard
    }

    pub(crate) fn has_yard(&self) -> bool {
        self.sender.is_some()
    }

    /// Returns a number that was not used before, for a link or a fork.
    pub(crate) fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    /// Sends an order to the yard. Returns whether the yard is connected; a fork that can't be sent
    /// is reported as not forked.
    pub(crate) fn send(&self, order: impl Into<YardOrder>) -> bool {
        self.sender.as_ref().is_some_and(|yard| yard.send(order.into()).is_ok())
    }

    /// Stores an encoded launch order with the yard, for the next daemon. It is sent at once where
    /// possible, so that it survives a kill of the daemon. Returns whether there is a yard.
    pub(crate) fn store(&self, id: &SessionId, order: OwnedFd) -> bool {
        let Some(yard) = &self.sender else { return false };
        let request = YardRequest::Keep { name: id.to_string() };
        yard.send_now(YardOrder { request, descriptors: vec![order] });
        true
    }

    pub(crate) fn delete_stored(&self, name: String) {
        self.send(YardRequest::Forget { name });
    }

    pub(crate) fn awaits_fork(&self, id: &SessionId) -> bool {
        self.forks.values().any(|other| other == id)
    }

    pub(crate) fn cancel_forks(&mut self, id: &SessionId) {
        self.forks.retain(|_, other| other != id);
    }

    /// Removes a keeper, unless another session has it by now.
    pub(crate) fn remove_of(&mut self, pid: i32, id: &SessionId) {
        if self.by_pid.get(&pid) == Some(id) {
            self.by_pid.remove(&pid);
        }
    }

    /// Asks the yard for its keepers. Without a yard the answer is dropped.
    pub(crate) fn list(&mut self, answer: oneshot::Sender<YardKeepers>) {
        if self.send(YardRequest::Status) {
            self.list_requests.push_back(answer);
        }
    }

    /// The yard has listed its keepers: answers the oldest request.
    pub(crate) fn listed(&mut self, children: Vec<i32>) {
        if let Some(answer) = self.list_requests.pop_front() {
            answer.send(YardKeepers { children, known: self.by_pid.clone() }).ok();
        }
    }

    /// The yard is gone: returns the sessions whose keeper will never be forked.
    pub(crate) fn yard_gone(&mut self) -> Vec<SessionId> {
        self.sender = None;
        self.list_requests.clear();
        self.forks.drain().map(|(_, id)| id).collect()
    }
}

#[cfg(test)]
mod tests {
    use kennel_sys::pidfd;
    use kennel_types::IdMaker;
    use rustix::fd::AsFd;

    use super::*;

    fn keepers() -> Keepers {
        let pid = rustix::process::getpid().as_raw_pid();
        let own = pidfd::open(pid).unwrap().unwrap();
        Keepers::new(ProcessIdentity::new(own.as_fd(), pid).unwrap(), None)
    }

    #[test]
    fn sessions_without_a_keeper_are_returned_when_the_yard_is_gone() {
        let (mut keepers, mut ids) = (keepers(), IdMaker::default());
        let (first, second) = (ids.next(1, 1), ids.next(2, 2));
        keepers.forks.insert(1, first.clone());
        keepers.forks.insert(2, second.clone());
        assert!(keepers.awaits_fork(&first));
        assert_eq!(keepers.forks.remove(&1), Some(first.clone()));
        assert!(!keepers.awaits_fork(&first));
        assert_eq!(keepers.yard_gone(), [second], "its keeper will never be forked");
    }

    #[test]
    fn a_pid_that_has_passed_to_another_session_stays() {
        let (mut keepers, mut ids) = (keepers(), IdMaker::default());
        let (former, current) = (ids.next(1, 1), ids.next(2, 2));
        keepers.by_pid.insert(50, former.clone());
        keepers.by_pid.insert(50, current.clone());
        keepers.remove_of(50, &former);
        assert_eq!(keepers.by_pid.get(&50), Some(&current));
        keepers.remove_of(50, &current);
        assert_eq!(keepers.by_pid.len(), 0);
    }

    #[test]
    fn drops_the_request_for_a_list_without_a_yard() {
        let mut keepers = keepers();
        let (answer, mut list) = oneshot::channel();
        keepers.list(answer);
        assert!(!keepers.has_yard() && list.try_recv().is_err());
    }
}
