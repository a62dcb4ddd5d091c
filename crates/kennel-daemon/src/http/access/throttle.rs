//! How many wrong secrets are answered. Pure.
//!
//! A right one is let in whatever others did: secrets are too long to be guessed, so this bounds what wrong ones cost
//! (log, time), and keeps nobody out.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// So many at once from one address, and one a second from then on.
const OF_ONE: Bucket = Bucket { left: 10.0, most: 10.0, a_second: 1.0, at: None };
/// The same for all of them.
const OF_ALL: Bucket = Bucket { left: 100.0, most: 100.0, a_second: 10.0, at: None };
/// So many addresses are told apart.
const MOST_PEERS: usize = 1024;

/// What became of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum Failure {
    /// It may be answered, and told in the log.
    Counted,
    /// There were too many: the next may come after this time.
    TooMany(Duration),
}

/// Counts failures.
#[derive(Debug)]
pub(super) struct Throttle {
    all: Bucket,
    peers: HashMap<IpAddr, Bucket>,
}

impl Default for Throttle {
    fn default() -> Self {
        Self { all: OF_ALL, peers: HashMap::new() }
    }
}

impl Throttle {
    /// Another one, from this address.
    pub(super) fn fail(&mut self, peer: IpAddr, now: Instant) -> Failure {
        let peer = neighbourhood(peer);
        if self.peers.len() >= MOST_PEERS && !self.peers.contains_key(&peer) {
            self.peers.retain(|_, bucket| !bucket.is_full(now));
        }
        let room = self.peers.len() < MOST_PEERS;
        let own = match self.peers.get_mut(&peer) {
            Some(bucket) => bucket.take(now),
            None if room => self.peers.entry(peer).or_insert(OF_ONE).take(now),
            // Too many to be told apart: they share one.
            None => Failure::Counted,
        };
        match own {
            Failure::Counted => self.all.take(now),
            too_many @ Failure::TooMany(_) => too_many,
        }
    }
}

/// Whoever has one IPv6 address mostly has 2⁶⁴.
fn neighbourhood(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(six) if !six.is_loopback() => {
            let [a, b, c, d, ..] = six.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
        other => other,
    }
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: f64,
    most: f64,
    a_second: f64,
    at: Option<Instant>,
}

impl Bucket {
    fn refill(&mut self, now: Instant) {
        let passed = self.at.map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        self.left = (self.left + passed.as_secs_f64() * self.a_second).min(self.most);
        self.at = Some(now);
    }

    fn take(&mut self, now: Instant) -> Failure {
        self.refill(now);
        if self.left >= 1.0 {
            self.left -= 1.0;
            return Failure::Counted;
        }
        Failure::TooMany(Duration::from_secs_f64((1.0 - self.left) / self.a_second))
    }

    fn is_full(&mut self, now: Instant) -> bool {
        self.refill(now);
        self.left >= self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(number: u32) -> IpAddr {
        IpAddr::from(number.to_be_bytes())
    }

    fn counted(throttle: &mut Throttle, peer: IpAddr, now: Instant) -> usize {
        (0..1000).filter(|_| throttle.fail(peer, now) == Failure::Counted).count()
    }

    #[test]
    fn one_address_has_so_many_and_others_have_their_own() {
        let mut throttle = Throttle::default();
        let now = Instant::now();
        assert_eq!(counted(&mut throttle, peer(1), now), 10);
        assert_eq!(counted(&mut throttle, peer(2), now), 10);
        let wait = throttle.fail(peer(1), now);
        assert_eq!(wait, Failure::TooMany(Duration::from_secs(1)));
        assert_eq!(counted(&mut throttle, peer(1), now + Duration::from_secs(3)), 3);
    }

    #[test]
    fn all_together_have_so_many_too() {
        let mut throttle = Throttle::default();
        let now = Instant::now();
        let all: usize = (0..50).map(|number| counted(&mut throttle, peer(number), now)).sum();
        assert_eq!(all, 100);
    }

    #[test]
    fn it_stays_small_whoever_comes() {
        let mut throttle = Throttle::default();
        let now = Instant::now();
        for number in 0..5000 {
            let _ = throttle.fail(peer(number), now);
        }
        assert_eq!(throttle.peers.len(), MOST_PEERS);
        let _ = throttle.fail(peer(9999), now + Duration::from_secs(60));
        assert_eq!(throttle.peers.len(), 1, "those who have been quiet are forgotten");
    }

    #[test]
    fn addresses_of_one_network_are_one() {
        let mut throttle = Throttle::default();
        let now = Instant::now();
        let all: usize = (0..50_u16)
            .map(|host| IpAddr::from([0x2001, 0xdb8, 0, 1, 0, 0, 0, host]))
            .map(|peer| counted(&mut throttle, peer, now))
            .sum();
        assert_eq!(all, 10);
    }
}
