//! Seeded random numbers: the same seed draws the same plan.

use fastrand::Rng;

/// What the numbers are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RandomStream {
    /// The plan of an epoch.
    Epoch,
    /// A client.
    Client(u32),
    /// The fault injector.
    Faults,
}

/// Returns the random numbers of one stream in one epoch. Streams are independent: drawing from one
/// does not change another.
pub(crate) fn random_numbers(seed: u64, epoch: u32, stream: RandomStream) -> Rng {
    let stream = match stream {
        RandomStream::Epoch => 0,
        RandomStream::Faults => 1,
        RandomStream::Client(number) => 2 + u64::from(number),
    };
    let mut rng = Rng::with_seed(seed);
    // Consecutive seeds must not give consecutive epochs.
    for part in [u64::from(epoch), stream] {
        let mixed = rng.u64(..) ^ part.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        rng = Rng::with_seed(mixed);
    }
    rng
}

/// Draws one of the values, each with a probability in proportion to its weight.
pub(crate) fn weighted<T: Copy>(rng: &mut Rng, choices: &[(u32, T)]) -> T {
    let total: u32 = choices.iter().map(|(weight, _)| weight).sum();
    let mut at = rng.u32(..total.max(1));
    for (weight, choice) in choices {
        if at < *weight {
            return *choice;
        }
        at -= weight;
    }
    choices[choices.len() - 1].1
}

/// Returns true with this probability in percent.
pub(crate) fn chance(rng: &mut Rng, so_many: u32) -> bool {
    rng.u32(..100) < so_many
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_seed_draws_the_same_numbers() {
        let draw = |seed, epoch, stream| random_numbers(seed, epoch, stream).u64(..);
        assert_eq!(draw(7, 1, RandomStream::Client(2)), draw(7, 1, RandomStream::Client(2)));
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..4 {
            for epoch in 0..4 {
                for stream in [RandomStream::Epoch, RandomStream::Faults, RandomStream::Client(0)] {
                    assert!(seen.insert(draw(seed, epoch, stream)), "{seed} {epoch} {stream:?}");
                }
            }
        }
    }

    #[test]
    fn draws_in_proportion_to_the_weights() {
        let mut rng = random_numbers(1, 0, RandomStream::Epoch);
        let mut counts = [0; 3];
        for _ in 0..3000 {
            counts[weighted(&mut rng, &[(1, 0), (0, 1), (9, 2)])] += 1;
        }
        assert_eq!(counts[1], 0);
        assert!(counts[0] > 200 && counts[2] > 2400, "{counts:?}");
    }
}
