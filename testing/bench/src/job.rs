//! The jobs of workers, selected by the command line.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use kennel_pen::{HomeId, PenKind};

use crate::{baseline, big_caller, bombs, ending, hop, launch};

/// One round; returns its figures.
pub(crate) type WorkerJob = Box<dyn FnMut() -> Result<Vec<u64>>>;

/// Parses the command line of a worker.
pub(crate) fn build(home: &HomeId, words: &[String]) -> Result<WorkerJob> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["launch", contender] => launch::job(home, contender),
        ["resident", megabytes, "launch", contender] => {
            big_caller::job(megabytes.parse()?, launch::job(home, contender)?)
        }
        ["end", shape, way] => ending::job(home, shape, way),
        ["hop"] => hop::job(home),
        ["baseline", pen, launches] => baseline::job(home, kind(pen)?, launches.parse()?),
        ["bomb", processes, pen] => bombs::job(home, processes, kind(pen)?),
        _ => bail!("no such job: {words:?}"),
    }
}

/// Parses the kind of a pen.
pub(crate) fn kind(word: &str) -> Result<PenKind> {
    let kinds = [("cgroup", PenKind::Cgroup), ("subtree", PenKind::Subtree)];
    let found = kinds.into_iter().find(|(name, _)| *name == word);
    found.map(|(_, kind)| kind).with_context(|| format!("unknown kind of pen: {word}"))
}

/// Measures how long it takes.
pub(crate) fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(Duration, T)> {
    let start = Instant::now();
    let result = work()?;
    Ok((start.elapsed(), result))
}
