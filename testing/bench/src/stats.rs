//! Medians, quartiles, ratios, and their tables.

use std::time::Duration;

/// The values of one figure of one contender, mostly nanoseconds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples {
    /// All values, in ascending order.
    sorted: Vec<u64>,
    /// The median of each turn, in the order of the turns.
    turns: Vec<u64>,
}

impl Samples {
    /// Creates samples from the values of all rounds, with this many rounds in a turn.
    pub(crate) fn new(values: Vec<u64>, batch: usize) -> Self {
        let turns = values.chunks(batch.max(1)).map(|turn| {
            let mut turn = turn.to_vec();
            turn.sort_unstable();
            percentile(&turn, 50)
        });
        let turns = turns.collect();
        let mut sorted = values;
        sorted.sort_unstable();
        Self { sorted, turns }
    }

    pub(crate) fn len(&self) -> usize {
        self.sorted.len()
    }

    pub(crate) fn percentile(&self, percent: usize) -> u64 {
        percentile(&self.sorted, percent)
    }

    /// Returns the sum, for figures that are counts.
    pub(crate) fn sum(&self) -> u64 {
        self.sorted.iter().sum()
    }

    pub(crate) fn median(&self) -> u64 {
        self.percentile(50)
    }

    /// Returns the ratio to the other: the median of the ratios of the turns, each of which
    /// compares values that were measured at nearly the same time. The machine may be slower in one
    /// minute than in another.
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds of at most minutes")]
    pub(crate) fn ratio_to(&self, other: &Self) -> f64 {
        let pairs = self.turns.iter().zip(&other.turns);
        let mut ratios: Vec<f64> = pairs.map(|(a, b)| *a as f64 / *b as f64).collect();
        ratios.sort_unstable_by(f64::total_cmp);
        ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN)
    }
}

/// Returns the value below which `percent` of all values are; 0 without values.
fn percentile(sorted: &[u64], percent: usize) -> u64 {
    let index = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(index).copied().unwrap_or(0)
}

/// One line of a table.
pub(crate) struct Row<'a> {
    pub(crate) name: &'a str,
    pub(crate) samples: &'a Samples,
}

/// Prints the rows, with the ratio of each to every reference.
pub(crate) fn print_table(rows: &[Row<'_>], references: &[Row<'_>]) {
    let mut head = format!("  {:<34}{:>10}{:>10}{:>10}", "", "p25", "median", "p75");
    for reference in references {
        head += &format!("{:>18}", format!("x {}", reference.name));
    }
    println!("{head}{:>9}", "rounds");
    for row in rows {
        let samples = row.samples;
        let mut line = format!("  {:<34}", row.name);
        for percent in [25, 50, 75] {
            line += &format!("{:>10}", time(samples.percentile(percent)));
        }
        for reference in references {
            line += &format!("{:>18.3}", samples.ratio_to(reference.samples));
        }
        println!("{line}{:>9}", samples.len());
    }
}

/// Formats a time with a suitable unit.
pub(crate) fn time(nanoseconds: u64) -> String {
    let seconds = Duration::from_nanos(nanoseconds).as_secs_f64();
    match nanoseconds {
        0..1_000_000 => format!("{:.1} us", seconds * 1e6),
        1_000_000..1_000_000_000 => format!("{:.2} ms", seconds * 1e3),
        _ => format!("{seconds:.2} s"),
    }
}

/// Returns a duration in nanoseconds.
pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_percentiles_of_the_sorted_values() {
        let samples = Samples::new((1..=100).rev().collect(), 10);
        assert_eq!((samples.percentile(25), samples.median()), (26, 51));
        assert_eq!(Samples::new(vec![7], 1).percentile(75), 7);
        assert_eq!(Samples::default().median(), 0);
    }

    #[test]
    fn compares_values_of_the_same_turn() {
        // Twice as long in every turn, on a machine that is ten times slower in the second half.
        let one = Samples::new(vec![10, 10, 100, 100], 2);
        let two = Samples::new(vec![20, 20, 200, 200], 2);
        assert!((two.ratio_to(&one) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn formats_a_time_with_a_suitable_unit() {
        assert_eq!(time(1_500), "1.5 us");
        assert_eq!(time(2_500_000), "2.50 ms");
        assert_eq!(time(3_000_000_000), "3.00 s");
    }
}
