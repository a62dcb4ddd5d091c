//! Keepers that have done their work, and wait for more: see the keeper's own account of it.

use std::time::{Duration, Instant};

use kennel_types::SessionId;

use super::Owner;
use crate::keeper_link::{Descent, KeeperLink};
use crate::message::Message;

/// How many are kept.
const MOST: usize = 8;
/// How long one is kept without a launch.
const KEPT: Duration = Duration::from_secs(10);

/// A keeper without a launch.
#[derive(Debug)]
pub(super) struct Spare {
    pub(super) pid: i32,
    pub(super) link: KeeperLink,
    /// When it is let go.
    until: Instant,
}

/// Those who wait.
#[derive(Debug, Default)]
pub(super) struct Spares {
    /// The one that waits longest first.
    waiting: Vec<Spare>,
    /// Whether somebody will come back to see who has waited long enough.
    is_minded: bool,
}

impl Spares {
    /// The last one in, which has the warmest memory, as the keeper of this session, by this number of its link; those
    /// that are gone are passed over.
    pub(super) fn take(&mut self, id: &SessionId, number: u64) -> Option<Spare> {
        std::iter::from_fn(|| self.waiting.pop()).find_map(|mut spare| {
            let connected = spare.link.socket.get_ref().is_connected();
            (connected && spare.link.is_now(id.clone(), number)).then_some(spare)
        })
    }

    pub(super) fn count(&self) -> usize {
        self.waiting.len()
    }

    /// Lets go of those for whom this holds; they leave when they see it.
    pub(super) fn let_go(&mut self, of: impl Fn(&Spare) -> bool) {
        self.waiting.retain(|spare| !of(spare));
    }
}

impl Owner {
    /// A keeper says that it is free.
    pub(super) fn keeper_free(&mut self, id: &SessionId) {
        let leaving = self.leaving.is_some();
        let ended = self.world.get(id).is_none_or(|session| session.has_ended());
        let Some(runtime) = self.runtimes.get_mut(id) else { return };
        let Some(link) = runtime.link.take() else { return };
        runtime.clear_deadlines();
        if link.descent == Descent::Found {
            // What a former yard's leaves when it is killed would fall to nobody of ours, and an older program may
            // not understand its orders. Its end may never be told of.
            return self.forget_keeper(id);
        }
        // Whoever ends its pen without it, even now, goes by this very connection.
        let passed_over = runtime.ending_pen;
        let Some(pid) = runtime.keeper_pid.take() else { return };
        // Whoever asks the yard who its children are must find it among those that are known.
        self.keepers.insert(pid, id.clone());
        if leaving || !ended || passed_over || self.spares.waiting.len() >= MOST {
            return;
        }
        self.spares.waiting.push(Spare { pid, link, until: Instant::now() + KEPT });
        self.mind_spares();
    }

    /// Sees to it that somebody comes back when the next one has waited long enough.
    fn mind_spares(&mut self) {
        let Some(next) = self.spares.waiting.first().filter(|_| !self.spares.is_minded) else {
            return;
        };
        let (bus, until) = (self.bus.clone(), next.until);
        tokio::spawn(async move {
            tokio::time::sleep_until(until.into()).await;
            bus.send(Message::SparesOverdue).ok();
        });
        self.spares.is_minded = true;
    }

    /// Lets go of those who have waited long enough.
    pub(super) fn spares_overdue(&mut self) {
        let now = Instant::now();
        self.spares.is_minded = false;
        self.spares.let_go(|spare| spare.until <= now);
        self.mind_spares();
    }
}
