//! Chance with a seed: the same seed draws the same plan.

use fastrand::Rng;

/// Who draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Drawer {
    /// What an epoch is like.
    Epoch,
    /// One of the clients.
    Client(u32),
    /// Whoever torments.
    Tormentor,
}

/// The chance of one drawer in one epoch. It is nobody else's, so that what others do does not change it.
pub(crate) fn dice(seed: u64, epoch: u32, drawer: Drawer) -> Rng {
    let drawer = match drawer {
        Drawer::Epoch => 0,
        Drawer::Tormentor => 1,
        Drawer::Client(number) => 2 + u64::from(number),
    };
    let mut rng = Rng::with_seed(seed);
    // Far apart: seeds that follow each other must not give epochs that do.
    for part in [u64::from(epoch), drawer] {
        let mixed = rng.u64(..) ^ part.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        rng = Rng::with_seed(mixed);
    }
    rng
}

/// One of these, each as likely as its weight.
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

/// Whether something of so many in a hundred happens.
pub(crate) fn in_a_hundred(rng: &mut Rng, so_many: u32) -> bool {
    rng.u32(..100) < so_many
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same_and_another_does_not() {
        let draw = |seed, epoch, drawer| dice(seed, epoch, drawer).u64(..);
        assert_eq!(draw(7, 1, Drawer::Client(2)), draw(7, 1, Drawer::Client(2)));
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..4 {
            for epoch in 0..4 {
                for drawer in [Drawer::Epoch, Drawer::Tormentor, Drawer::Client(0)] {
                    assert!(seen.insert(draw(seed, epoch, drawer)), "{seed} {epoch} {drawer:?}");
                }
            }
        }
    }

    #[test]
    fn weights_are_kept() {
        let mut rng = dice(1, 0, Drawer::Epoch);
        let mut counts = [0; 3];
        for _ in 0..3000 {
            counts[weighted(&mut rng, &[(1, 0), (0, 1), (9, 2)])] += 1;
        }
        assert_eq!(counts[1], 0);
        assert!(counts[0] > 200 && counts[2] > 2400, "{counts:?}");
    }
}
