//! Limits the rate of responses to wrong secrets. Pure.
//!
//! Secrets are too long to guess. This limits the cost of wrong ones (log lines, time). A client with a valid secret is
//! never throttled.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// The burst of one address, and its rate per second.
const PER_PEER: FailureBucket =
    FailureBucket { left: 10.0, capacity: 10.0, per_second: 1.0, at: None };
/// The burst and the rate of all addresses together.
const TOTAL: FailureBucket =
    FailureBucket { left: 100.0, capacity: 100.0, per_second: 10.0, at: None };
/// The maximum number of addresses with a bucket of their own.
const MAX_PEERS: usize = 1024;

#[derive(Debug)]
pub(super) struct Throttle {
    all: FailureBucket,
    peers: HashMap<IpAddr, FailureBucket>,
}

impl Default for Throttle {
    fn default() -> Self {
        Self { all: TOTAL, peers: HashMap::new() }
    }
}

impl Throttle {
    /// Counts a wrong secret from this address. If there were too many, returns after which time the client may retry.
    pub(super) fn fail(&mut self, peer: IpAddr, now: Instant) -> Result<(), Duration> {
        let peer = network_of(peer);
        if self.peers.len() >= MAX_PEERS && !self.peers.contains_key(&peer) {
            self.peers.retain(|_, bucket| !bucket.is_full(now));
        }
        // Addresses beyond the limit have only the total bucket.
        if self.peers.len() < MAX_PEERS || self.peers.contains_key(&peer) {
            self.peers.entry(peer).or_insert(PER_PEER).take(now)?;
        }
        self.all.take(now)
    }
}

/// Returns the network of an address: a client with one IPv6 address usually has the whole /64.
fn network_of(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(six) if !six.is_loopback() => {
            let [a, b, c, d, ..] = six.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
        other => other,
    }
}

#[derive(Debug, Clone, Copy)]
struct FailureBucket {
    left: f64,
    capacity: f64,
    per_second: f64,
    at: Option<Instant>,
}

impl FailureBucket {
    fn refill(&mut self, now: Instant) {
        let passed = self.at.map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        self.left = (self.left + passed.as_secs_f64() * self.per_second).min(self.capacity);
        self.at = Some(now);
    }

    fn take(&mut self, now: Instant) -> Result<(), Duration> {
        self.refill(now);
        if self.left >= 1.0 {
            self.left -= 1.0;
            return Ok(());
        }
        Err(Duration::from_secs_f64((1.0 - self.left) / self.per_second))
    }

    fn is_full(&mut self, now: Instant) -> bool {
        self.refill(now);
        self.left >= self.capacity
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(number: u32) -> IpAddr {
        IpAddr::from(number.to_be_bytes())
    }

    fn counted(throttle: &mut Throttle, peer: IpAddr, now: Instant) -> usize {
        (0..1000).filter(|_| throttle.fail(peer, now).is_ok()).count()
    }

    #[test]
    fn each_address_has_its_own_limit() {
        let mut throttle = Throttle::default();
        let now = Instant::now();
        assert_eq!(counted(&mut throttle, peer(1), now), 10);
        assert_eq!(counted(&mut throttle, peer(2), now), 10);
        let wait = throttle.fail(peer(1), now);
        assert_eq!(wait, Err(Duration::from_secs(1)));
        assert_eq!(counted(&mut throttle, peer(1), now + Duration::from_secs(3)), 3);
    }

    #[test]
    fn all_addresses_together_have_a_limit() {
        let mut throttle = Throttle::default();
        let now = Instant::now();
        let all: usize = (0..50).map(|number| counted(&mut throttle, peer(number), now)).sum();
        assert_eq!(all, 100);
    }

    #[test]
    fn the_table_of_addresses_stays_small() {
        let mut throttle = Throttle::default();
        let now = Instant::now();
        for number in 0..5000 {
            let _ = throttle.fail(peer(number), now);
        }
        assert_eq!(throttle.peers.len(), MAX_PEERS);
        let _ = throttle.fail(peer(9999), now + Duration::from_secs(60));
        assert_eq!(throttle.peers.len(), 1, "quiet addresses are removed");
    }

    #[test]
    fn addresses_of_one_network_share_a_limit() {
        let mut throttle = Throttle::default();
        let now = Instant::now();
        let all: usize = (0..50_u16)
            .map(|host| IpAddr::from([0x2001, 0xdb8, 0, 1, 0, 0, 0, host]))
            .map(|peer| counted(&mut throttle, peer, now))
            .sum();
        assert_eq!(all, 10);
    }
}
