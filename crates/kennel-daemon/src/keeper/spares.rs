//! Spare keepers: they have finished their launch and wait a short time for another one.

use std::time::{Duration, Instant};

use kennel_types::SessionId;

use crate::keeper::link::KeeperLink;

const LIMIT: usize = 8;
const LIFETIME: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct SpareKeeper {
    pub(crate) pid: i32,
    pub(crate) link: KeeperLink,
    until: Instant,
}

#[derive(Debug, Default)]
pub(crate) struct SpareKeepers {
    /// The one that has waited longest comes first.
    waiting: Vec<SpareKeeper>,
    /// Whether a timer is running that calls [`SpareKeepers::release_overdue`].
    has_timer: bool,
}

impl SpareKeepers {
    /// Assigns the most recently added keeper to this session, because its memory is warmest. Its
    /// link gets the given number. Keepers that have exited are dropped.
    pub(crate) fn take(&mut self, id: &SessionId, number: u64) -> Option<SpareKeeper> {
        std::iter::from_fn(|| self.waiting.pop()).find_map(|mut spare| {
            let connected = spare.link.socket.get_ref().is_connected();
            (connected && spare.link.reassign(id.clone(), number)).then_some(spare)
        })
    }

    pub(crate) fn count(&self) -> usize {
        self.waiting.len()
    }

    /// Keeps a free keeper for a later launch, unless there are enough; a refused one is dropped
    /// and exits. Returns when the timer must fire, if one has to be started.
    pub(crate) fn offer(&mut self, pid: i32, link: KeeperLink, now: Instant) -> Option<Instant> {
        if self.waiting.len() < LIMIT {
            self.waiting.push(SpareKeeper { pid, link, until: now + LIFETIME });
        }
        self.next_timer()
    }

    /// Drops the keepers that have waited long enough. Returns when to call this again, if at all.
    pub(crate) fn release_overdue(&mut self, now: Instant) -> Option<Instant> {
        self.has_timer = false;
        self.release(|spare| spare.until <= now);
        self.next_timer()
    }

    /// Drops the keepers that match. They exit when their connection closes.
    pub(crate) fn release(&mut self, matches: impl Fn(&SpareKeeper) -> bool) {
        self.waiting.retain(|spare| !matches(spare));
    }

    fn next_timer(&mut self) -> Option<Instant> {
        let next = self.waiting.first().filter(|_| !self.has_timer)?.until;
        self.has_timer = true;
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use kennel_keeper::KeeperClient;
    use kennel_pen::wire::Channel;
    use kennel_types::IdMaker;
    use rustix::fd::OwnedFd;

    use super::*;
    use crate::event_sender::EventSender;
    use crate::keeper::link::KeeperOrigin;
    use crate::os::async_fd;

    /// A link, and the keeper's end of it.
    fn link() -> (KeeperLink, OwnedFd) {
        let (ours, theirs) = Channel::pair().unwrap();
        let socket = async_fd::watch(KeeperClient::over(ours)).unwrap();
        let id = IdMaker::default().next(0, 1);
        let link = KeeperLink::spawn(id, 1, KeeperOrigin::Ours, socket, EventSender::new(|_| {}));
        (link, theirs)
    }

    #[tokio::test]
    async fn starts_one_timer_and_releases_what_is_overdue() {
        let (mut spares, now) = (SpareKeepers::default(), Instant::now());
        let ((first, _a), (second, _b)) = (link(), link());
        assert_eq!(spares.offer(10, first, now), Some(now + LIFETIME));
        assert_eq!(spares.offer(11, second, now + Duration::from_secs(1)), None, "one is running");
        let next = spares.release_overdue(now + LIFETIME);
        assert_eq!((spares.count(), next), (1, Some(now + LIFETIME + Duration::from_secs(1))));
        assert_eq!(spares.release_overdue(now + LIFETIME * 2), None);
        assert_eq!(spares.count(), 0);
    }

    #[tokio::test]
    async fn keeps_no_more_than_the_limit_and_hands_out_only_connected_keepers() {
        let (mut spares, now) = (SpareKeepers::default(), Instant::now());
        let mut ends = Vec::new();
        for pid in 0..20 {
            let (link, end) = link();
            spares.offer(pid, link, now);
            ends.push(end);
        }
        assert_eq!(spares.count(), LIMIT);
        let id = IdMaker::default().next(0, 1);
        ends.truncate(LIMIT - 1);
        let taken = spares.take(&id, 7).unwrap();
        assert_eq!((taken.pid, taken.link.number), (6, 7), "the last one has exited");
        drop(ends);
        assert!(spares.take(&id, 8).is_none());
    }
}
