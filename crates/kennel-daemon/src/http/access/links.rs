//! Links that let a browser in once. Pure; on no disk, since each is good for ten minutes at most.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use kennel_types::api::Scope;

use super::secret::Sum;

/// How long a link is good.
pub(super) const VALID: Duration = Duration::from_secs(600);
/// The most that wait to be followed; one more voids the oldest.
const MOST: usize = 16;

/// Links that were given out and not followed yet.
#[derive(Debug, Default)]
pub(super) struct Links(VecDeque<Link>);

#[derive(Debug)]
struct Link {
    sum: Sum,
    scope: Scope,
    made: Instant,
}

impl Links {
    /// One more.
    pub(super) fn add(&mut self, sum: Sum, scope: Scope, now: Instant) {
        self.0.retain(|link| is_good(link, now));
        if self.0.len() >= MOST {
            self.0.pop_front();
        }
        self.0.push_back(Link { sum, scope, made: now });
    }

    /// What whoever follows this one may do. It is spent by that.
    pub(super) fn spend(&mut self, sum: &Sum, now: Instant) -> Option<Scope> {
        let at = self.0.iter().position(|link| link.sum == *sum)?;
        let link = self.0.remove(at)?;
        is_good(&link, now).then_some(link.scope)
    }
}

fn is_good(link: &Link, now: Instant) -> bool {
    now.saturating_duration_since(link.made) < VALID
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(number: usize) -> Sum {
        Sum::of(&number.to_le_bytes())
    }

    #[test]
    fn a_link_is_good_once_and_for_ten_minutes() {
        let mut links = Links::default();
        let now = Instant::now();
        links.add(sum(1), Scope::ReadOnly, now);
        links.add(sum(2), Scope::Full, now);
        assert_eq!(links.spend(&sum(3), now), None, "nobody made it");
        assert_eq!(links.spend(&sum(1), now + VALID / 2), Some(Scope::ReadOnly));
        assert_eq!(links.spend(&sum(1), now), None, "it was used");
        assert_eq!(links.spend(&sum(2), now + VALID), None, "it is too old");
    }

    #[test]
    fn only_so_many_wait() {
        let mut links = Links::default();
        let now = Instant::now();
        for number in 0..=MOST {
            links.add(sum(number), Scope::Full, now);
        }
        assert_eq!(links.spend(&sum(0), now), None);
        assert_eq!(links.spend(&sum(1), now), Some(Scope::Full));
        assert!(links.0.len() < MOST);
    }
}
