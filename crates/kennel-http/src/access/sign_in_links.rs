//! One-time sign-in links for browsers. Pure, and never on disk: each is valid for at most ten minutes.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use kennel_types::api::Scope;

use super::secret::SecretHash;

pub(super) const VALID: Duration = Duration::from_secs(600);
/// The maximum number of pending links. One more invalidates the oldest.
const MAX_LINKS: usize = 16;

#[derive(Debug, Default)]
pub(super) struct SignInLinks(VecDeque<SignInLink>);

#[derive(Debug)]
struct SignInLink {
    hash: SecretHash,
    scope: Scope,
    made: Instant,
}

impl SignInLinks {
    pub(super) fn add(&mut self, hash: SecretHash, scope: Scope, now: Instant) {
        self.0.retain(|link| is_valid(link, now));
        if self.0.len() >= MAX_LINKS {
            self.0.pop_front();
        }
        self.0.push_back(SignInLink { hash, scope, made: now });
    }

    /// Consumes a link. Returns the scope that it grants, if it is valid.
    pub(super) fn redeem(&mut self, hash: &SecretHash, now: Instant) -> Option<Scope> {
        let at = self.0.iter().position(|link| link.hash == *hash)?;
        let link = self.0.remove(at)?;
        is_valid(&link, now).then_some(link.scope)
    }
}

fn is_valid(link: &SignInLink, now: Instant) -> bool {
    now.saturating_duration_since(link.made) < VALID
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(number: usize) -> SecretHash {
        SecretHash::of(&number.to_le_bytes())
    }

    #[test]
    fn a_link_is_valid_once_and_for_ten_minutes() {
        let mut links = SignInLinks::default();
        let now = Instant::now();
        links.add(hash(1), Scope::ReadOnly, now);
        links.add(hash(2), Scope::Full, now);
        assert_eq!(links.redeem(&hash(3), now), None, "it was never created");
        assert_eq!(links.redeem(&hash(1), now + VALID / 2), Some(Scope::ReadOnly));
        assert_eq!(links.redeem(&hash(1), now), None, "it was used");
        assert_eq!(links.redeem(&hash(2), now + VALID), None, "it is too old");
    }

    #[test]
    fn only_the_newest_links_stay_valid() {
        let mut links = SignInLinks::default();
        let now = Instant::now();
        for number in 0..=MAX_LINKS {
            links.add(hash(number), Scope::Full, now);
        }
        assert_eq!(links.redeem(&hash(0), now), None);
        assert_eq!(links.redeem(&hash(1), now), Some(Scope::Full));
        assert!(links.0.len() < MAX_LINKS);
    }
}
