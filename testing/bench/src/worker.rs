//! Runs each contender in its own process, and lets them take turns.
//!
//! A pen owns all children of its process, and a peer's threads, handlers or memory should not
//! weigh on another. So this program starts itself once for each contender; such a worker does as
//! many rounds as a line on its standard input requests, and answers with a line of figures for
//! each. It ends when its input does, so it never outlives the program that started it by more than
//! a turn.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use kennel_pen::HomeId;

use crate::job;
use crate::stats::Samples;

/// The hidden first argument of a worker; the home's id and the words of its job follow.
pub(crate) const ARGUMENT: &str = "__worker";

/// What is measured, and by which job.
pub(crate) struct Contender {
    pub(crate) name: String,
    pub(crate) job: Vec<String>,
}

impl Contender {
    pub(crate) fn new(name: impl Into<String>, job: &[&str]) -> Self {
        let job = job.iter().map(|&word| word.to_owned()).collect();
        Self { name: name.into(), job }
    }
}

/// How many turns there are, and how many rounds each turn has.
#[derive(Clone, Copy)]
pub(crate) struct Rounds {
    /// Rounds before all others, which don't count.
    pub(crate) warm_up: usize,
    pub(crate) turns: usize,
    /// Rounds in each turn.
    pub(crate) batch: usize,
}

/// The measurements of one contender: the samples of each figure that its job returns.
pub(crate) struct Measured {
    pub(crate) name: String,
    pub(crate) figures: Vec<Samples>,
}

impl Measured {
    /// The first figure, which is the time.
    pub(crate) fn time(&self) -> &Samples {
        &self.figures[0]
    }
}

/// Lets all contenders take turns, one at a time, each turn in another order.
pub(crate) fn interleave(
    home: &HomeId,
    contenders: &[Contender],
    rounds: Rounds,
) -> Result<Vec<Measured>> {
    let mut workers = Vec::new();
    for contender in contenders {
        let mut worker = Worker::start(home, contender)?;
        worker.turn(rounds.warm_up)?;
        worker.lines.clear();
        workers.push(worker);
    }
    let mut order = Shuffled::new(workers.len());
    for _ in 0..rounds.turns {
        for &index in order.next() {
            workers[index].turn(rounds.batch)?;
        }
    }
    workers.into_iter().map(|worker| worker.finish(rounds.batch)).collect()
}

/// The numbers below a count, in an order that differs from call to call but not from run to run.
pub(crate) struct Shuffled {
    order: Vec<usize>,
    state: u64,
}

impl Shuffled {
    pub(crate) fn new(count: usize) -> Self {
        Self { order: (0..count).collect(), state: 0x9E37_79B9_7F4A_7C15 }
    }

    pub(crate) fn next(&mut self) -> &[usize] {
        for last in (1..self.order.len()).rev() {
            self.state ^= self.state << 13;
            self.state ^= self.state >> 7;
            self.state ^= self.state << 17;
            let other = usize::try_from(self.state % (last as u64 + 1)).unwrap_or(0);
            self.order.swap(last, other);
        }
        &self.order
    }
}

/// A worker, seen from the program that started it.
struct Worker {
    name: String,
    process: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    /// One entry for each round, of all figures.
    lines: Vec<Vec<u64>>,
}

impl Worker {
    fn start(home: &HomeId, contender: &Contender) -> Result<Self> {
        let program = std::env::current_exe().context("finding my own program")?;
        let mut process = Command::new(program)
            .arg(ARGUMENT)
            .arg(home.as_str())
            .args(&contender.job)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // An interrupt from the terminal ends this program; a worker must finish its round.
            .process_group(0)
            .spawn()
            .context("starting a worker")?;
        let orders = process.stdin.take();
        let answers = process.stdout.take().context("a worker has an output")?;
        Ok(Self {
            name: contender.name.clone(),
            process,
            orders,
            answers: BufReader::new(answers),
            lines: Vec::new(),
        })
    }

    fn turn(&mut self, rounds: usize) -> Result<()> {
        let orders = self.orders.as_mut().context("a worker has an input")?;
        writeln!(orders, "{rounds}").with_context(|| format!("{}: gone", self.name))?;
        for _ in 0..rounds {
            let mut line = String::new();
            self.answers.read_line(&mut line)?;
            let figures: Result<Vec<u64>, _> = line.split_whitespace().map(str::parse).collect();
            match figures {
                Ok(figures) if !figures.is_empty() => self.lines.push(figures),
                _ => bail!("{}: failed, see above", self.name),
            }
        }
        Ok(())
    }

    fn finish(mut self, batch: usize) -> Result<Measured> {
        self.orders = None;
        let status = self.process.wait().context("waiting for a worker")?;
        ensure!(status.success(), "{}: {status}", self.name);
        let columns = self.lines.iter().map(Vec::len).min().unwrap_or(0);
        let column = |index: usize| {
            let values = self.lines.iter().map(|row| row[index]);
            Samples::new(values.collect(), batch)
        };
        Ok(Measured {
            name: std::mem::take(&mut self.name),
            figures: (0..columns).map(column).collect(),
        })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.orders = None;
        self.process.wait().ok();
    }
}

/// Runs a worker.
pub(crate) fn serve(words: &[String]) -> Result<()> {
    let (home, words) = words.split_first().context("no home")?;
    let mut job = job::build(&HomeId::parse(home)?, words)?;
    for line in io::stdin().lines() {
        let rounds: usize = line?.parse().context("no number of rounds")?;
        let mut answer = String::new();
        for _ in 0..rounds {
            let figures: Vec<String> = job()?.iter().map(u64::to_string).collect();
            answer += &figures.join(" ");
            answer.push('\n');
        }
        io::stdout().write_all(answer.as_bytes())?;
        io::stdout().flush()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contender_has_a_turn_in_every_order() {
        let mut shuffled = Shuffled::new(5);
        for _ in 0..100 {
            let mut order = shuffled.next().to_vec();
            order.sort_unstable();
            assert_eq!(order, [0, 1, 2, 3, 4]);
        }
    }
}
