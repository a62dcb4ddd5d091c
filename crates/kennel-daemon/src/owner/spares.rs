//! Keepers that have done their work, and wait for more: see the keeper's own account of it.

use std::time::Duration;

use kennel_core::SessionId;

use super::Owner;
use crate::keeper_link::KeeperLink;
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
}

/// Those who wait.
#[derive(Debug, Default)]
pub(super) struct Spares(Vec<Spare>);

impl Spares {
    /// The last one in, which has the warmest memory; those that are gone are passed over.
    pub(super) fn take(&mut self) -> Option<Spare> {
        std::iter::from_fn(|| self.0.pop()).find(|spare| spare.link.socket.get_ref().is_connected())
    }

    /// Lets go of those for whom this holds; they leave when they see it.
    pub(super) fn let_go(&mut self, of: impl Fn(&Spare) -> bool) {
        self.0.retain(|spare| !of(spare));
    }
}

impl Owner {
    /// A keeper says that it is free.
    pub(super) fn keeper_free(&mut self, id: &SessionId) {
        let leaving = self.leaving.is_some();
        let ended = self.world.get(id).is_none_or(|session| session.has_ended());
        let Some(runtime) = self.runtimes.get_mut(id) else { return };
        let (Some(link), Some(pid)) = (runtime.link.take(), runtime.keeper_pid.take()) else {
            return;
        };
        runtime.clear_deadlines();
        // Whoever asks the yard who its children are must find it among those that are known.
        self.keepers.insert(pid, id.clone());
        if leaving || !ended || self.spares.0.len() >= MOST {
            return;
        }
        let (bus, number) = (self.bus.clone(), link.number);
        self.spares.0.push(Spare { pid, link });
        tokio::spawn(async move {
            tokio::time::sleep(KEPT).await;
            bus.send(Message::SpareOverdue { link: number }).ok();
        });
    }
}
