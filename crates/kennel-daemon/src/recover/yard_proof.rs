//! The proof that no process of a dead keeper is left below the yard.
//!
//! Orphans of a keeper become children of the yard, which ends them and reports that with the
//! keeper's end. A daemon that has missed the report checks for itself: as long as the yard lives,
//! every process that is left of its keeper is a child of the yard, or below a child that is
//! neither the daemon nor a keeper.

use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

use kennel_types::SessionId;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep, timeout_at};

use crate::event_sender::EventSender;
use crate::keeper::yard::YardKeepers;
use crate::os::proc;
use crate::recover::census::RecoveryRequest;

const PAUSE: Duration = Duration::from_millis(50);
const KEEPERS_TIMEOUT: Duration = Duration::from_secs(5);

/// What the yard has reported of a keeper.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum KeeperFate {
    #[default]
    Unknown,
    /// It was not forked, and will not be.
    NotForked,
    /// It has ended, and so have its orphans, except these.
    Ended { left: Vec<String> },
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    Empty,
    /// These processes may be left, or it is not known yet.
    NotYet(Vec<i32>),
}

#[derive(Debug)]
pub(crate) struct YardProof {
    pub(crate) session: SessionId,
    pub(crate) yard: i32,
    pub(crate) fate: watch::Receiver<KeeperFate>,
    pub(crate) owner: EventSender<RecoveryRequest>,
}

impl YardProof {
    /// Waits for the proof until the deadline. The keeper must be dead.
    pub(crate) async fn wait(&mut self, deadline: Instant) -> io::Result<Proof> {
        let mut empty_looks = 0;
        loop {
            match &*self.fate.borrow_and_update() {
                KeeperFate::NotForked => return Ok(Proof::Empty),
                KeeperFate::Ended { left } if left.is_empty() => return Ok(Proof::Empty),
                KeeperFate::Ended { .. } | KeeperFate::Unknown => {}
            }
            let left = self.look().await?;
            empty_looks = if left.is_empty() { empty_looks + 1 } else { 0 };
            // A list of children that change in the meantime may miss one: two checks are needed.
            if empty_looks >= 2 {
                return Ok(Proof::Empty);
            }
            if Instant::now() >= deadline {
                return Ok(Proof::NotYet(left));
            }
            let pause = (Instant::now() + PAUSE).min(deadline);
            // A report of the yard ends the pause. Without a sender there will be none.
            if !matches!(timeout_at(pause, self.fate.changed()).await, Ok(Ok(()))) {
                sleep(pause.saturating_duration_since(Instant::now())).await;
            }
        }
    }

    /// Returns the children of the yard that may be left of the session: those that are neither the
    /// daemon nor keepers of other sessions.
    async fn look(&self) -> io::Result<Vec<i32>> {
        let before = self.keepers().await?;
        let children = proc::children_of(self.yard)?;
        let after = self.keepers().await?;
        let own = rustix::process::getpid().as_raw_pid();
        Ok(unknown_children(&self.session, own, children, &[before, after]))
    }

    async fn keepers(&self) -> io::Result<YardKeepers> {
        let (answer, keepers) = oneshot::channel();
        // If the owner is gone, the answer is dropped.
        self.owner.send(RecoveryRequest::Keepers { answer });
        let keepers = timeout_at(Instant::now() + KEEPERS_TIMEOUT, keepers).await;
        keepers
            .ok()
            .and_then(Result::ok)
            .ok_or_else(|| io::Error::other("the yard does not answer"))
    }
}

fn unknown_children(
    session: &SessionId,
    daemon: i32,
    children: Vec<i32>,
    looks: &[YardKeepers],
) -> Vec<i32> {
    let keepers: BTreeSet<i32> =
        looks.iter().flat_map(|look| look.children.iter().copied()).collect();
    let is_others = |pid: &i32| {
        looks.iter().any(|look| look.known.get(pid).is_some_and(|other| other != session))
    };
    let mut left: BTreeSet<i32> = children.into_iter().filter(|pid| *pid != daemon).collect();
    // A keeper of no known session may be this session's own, not reaped yet.
    left.extend(&keepers);
    left.retain(|pid| !keepers.contains(pid) || !is_others(pid));
    left.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use kennel_types::IdMaker;

    use super::*;

    #[test]
    fn excludes_only_the_daemon_and_keepers_of_other_sessions() {
        let mut ids = IdMaker::default();
        let (mine, other) = (ids.next(1, 1), ids.next(2, 2));
        let look = |children: &[i32]| YardKeepers {
            children: children.to_vec(),
            known: HashMap::from([(20, other.clone()), (30, mine.clone())]),
        };
        let unknown_children = |children: &[i32], looks: &[YardKeepers]| {
            unknown_children(&mine, 10, children.to_vec(), looks)
        };
        assert_eq!(unknown_children(&[10, 20], &[look(&[20]), look(&[20])]), Vec::<i32>::new());
        assert_eq!(unknown_children(&[10, 20, 99], &[look(&[20]), look(&[20])]), [99], "an orphan");
        assert_eq!(unknown_children(&[10, 30], &[look(&[30]), look(&[])]), [30], "its own keeper");
        assert_eq!(
            unknown_children(&[10, 40], &[look(&[]), look(&[40])]),
            [40],
            "a keeper of an unknown session"
        );
        assert!(unknown_children(&[10], &[look(&[20]), look(&[])]).is_empty(), "another has ended");
    }

    #[tokio::test]
    async fn the_yards_report_is_enough() {
        let owner = EventSender::new(|_: RecoveryRequest| {});
        let (sender, fate) = watch::channel(KeeperFate::Ended { left: Vec::new() });
        let session = IdMaker::default().next(1, 1);
        let mut proof = YardProof { session, yard: 1, fate, owner };
        assert_eq!(proof.wait(Instant::now()).await.unwrap(), Proof::Empty);
        sender.send_replace(KeeperFate::NotForked);
        assert_eq!(proof.wait(Instant::now()).await.unwrap(), Proof::Empty);
    }
}
