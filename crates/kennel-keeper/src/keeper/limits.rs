//! The client's resource limits, as far as the keeper's own hard limits allow.

use kennel_pen::ResourceLimit;
use kennel_sys::resources::RESOURCES;
use rustix::process::getrlimit;
use rustix::thread::{CapabilitySet, capabilities};

/// Returns the limits that this process can grant, and those that are lower than requested.
pub(super) fn attainable(wanted: &[ResourceLimit]) -> (Vec<ResourceLimit>, Vec<ResourceLimit>) {
    let own = |limit: &ResourceLimit| {
        let resource = RESOURCES.iter().find(|known| **known as u32 == limit.resource);
        resource.map_or(u64::MAX, |known| getrlimit(*known).maximum.unwrap_or(u64::MAX))
    };
    within(wanted, own, may_raise)
}

/// Returns whether the kernel lets this process raise a hard limit.
fn may_raise() -> bool {
    capabilities(None).is_ok_and(|own| own.effective.contains(CapabilitySet::SYS_RESOURCE))
}

fn within(
    wanted: &[ResourceLimit],
    most: impl Fn(&ResourceLimit) -> u64,
    may_raise: impl FnOnce() -> bool,
) -> (Vec<ResourceLimit>, Vec<ResourceLimit>) {
    let cut = |limit: &ResourceLimit| {
        let most = most(limit);
        ResourceLimit { soft: limit.soft.min(most), hard: limit.hard.min(most), ..*limit }
    };
    let given: Vec<ResourceLimit> = wanted.iter().map(cut).collect();
    let lower: Vec<ResourceLimit> =
        given.iter().zip(wanted).filter(|(g, w)| g.hard != w.hard).map(|(g, _)| *g).collect();
    if lower.is_empty() || may_raise() {
        return (wanted.to_vec(), Vec::new());
    }
    (given, lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(soft: u64, hard: u64) -> ResourceLimit {
        ResourceLimit { resource: 7, soft, hard }
    }

    fn values(limits: &[ResourceLimit]) -> Vec<(u64, u64)> {
        limits.iter().map(|limit| (limit.soft, limit.hard)).collect()
    }

    #[test]
    fn a_limit_is_as_requested_or_the_highest_possible() {
        let wanted = [limit(5, 10), limit(200, 300), limit(5, u64::MAX)];
        let (given, lower) = within(&wanted, |_| 100, || false);
        assert_eq!(values(&given), [(5, 10), (100, 100), (5, 100)]);
        assert_eq!(values(&lower), [(100, 100), (5, 100)]);
        let (given, lower) = within(&wanted, |_| 100, || true);
        assert_eq!(values(&given), values(&wanted));
        assert!(lower.is_empty());
    }
}
