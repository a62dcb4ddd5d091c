//! Turns for contenders that share this process.

use anyhow::{Context as _, Result};

use crate::stats::Samples;
use crate::worker::{Measured, Rounds, Shuffled};

/// Something that is measured.
pub(crate) trait Contender {
    /// Its name in the tables.
    fn name(&self) -> String;

    /// Runs before each turn, outside of the measurement.
    fn begin(&mut self) -> Result<()> {
        Ok(())
    }

    /// One round; returns its figure, mostly nanoseconds.
    fn round(&mut self) -> Result<u64>;

    /// Runs after each turn, outside of the measurement: ends what would slow down the next one.
    fn end(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Lets all contenders take turns, each turn in another order.
pub(crate) fn take_turns(
    contenders: &mut [Box<dyn Contender + '_>],
    rounds: Rounds,
) -> Result<Vec<Measured>> {
    for contender in contenders.iter_mut() {
        turn(contender.as_mut(), rounds.warm_up)?;
    }
    let mut order = Shuffled::new(contenders.len());
    let mut values = vec![Vec::new(); contenders.len()];
    for _ in 0..rounds.turns {
        for &index in order.next() {
            values[index].extend(turn(contenders[index].as_mut(), rounds.batch)?);
        }
    }
    let names = contenders.iter().map(|contender| contender.name());
    let samples = values.into_iter().map(|values| Samples::new(values, rounds.batch));
    Ok(names.zip(samples).map(|(name, time)| Measured { name, figures: vec![time] }).collect())
}

fn turn(contender: &mut dyn Contender, rounds: usize) -> Result<Vec<u64>> {
    let name = contender.name();
    contender.begin().with_context(|| format!("{name}: before its turn"))?;
    let figures: Result<Vec<u64>> = (0..rounds).map(|_| contender.round()).collect();
    let figures = figures.with_context(|| name.clone())?;
    contender.end().with_context(|| format!("{name}: after its turn"))?;
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Counting {
        rounds: u64,
        between: u64,
    }

    impl Contender for Counting {
        fn name(&self) -> String {
            "counting".to_owned()
        }

        fn round(&mut self) -> Result<u64> {
            self.rounds += 1;
            Ok(self.rounds + self.between)
        }

        fn end(&mut self) -> Result<()> {
            self.between += 100;
            Ok(())
        }
    }

    #[test]
    fn warming_up_does_not_count() {
        let mut contenders: Vec<Box<dyn Contender>> =
            vec![Box::new(Counting { rounds: 0, between: 0 })];
        let rounds = Rounds { warm_up: 3, turns: 2, batch: 2 };
        let measured = take_turns(&mut contenders, rounds).unwrap();
        assert_eq!(measured[0].time().len(), 4);
        assert_eq!(measured[0].time().sum(), 104 + 105 + 206 + 207);
    }
}
