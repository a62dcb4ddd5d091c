//! `kennel-bench api`: what many watching clients cost.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Result, ensure};
use rustix::event::{PollFd, PollFlags, Timespec};

use super::home::{BenchHome, LONG, discard_session, start_session};
use super::process;
use super::rest::IDLE;
use super::{BenchRun, request};
use crate::stats::{Samples, time};
use crate::target::Target;

const DAY_MS: u64 = 24 * 3600 * 1000;

/// Section 1: one event to many clients that follow the log.
#[expect(clippy::cast_precision_loss, reason = "nanoseconds of a second")]
pub(super) fn events(run: &mut BenchRun) -> Result<()> {
    let (subscribers, rounds) = if run.quick { (200, 5) } else { (1000, 20) };
    println!("1. one event to {subscribers} streams, from its time in the log to the last reader");
    let home = run.home("api-events")?;
    let mut client = home.connect()?;
    let session = request::session(&IDLE)?;
    let first = start_session(&mut client, &session)?;
    let mut streams = Streams::open(&home, "/v1/events?format=sse&kind=running", subscribers)?;
    let (mut latencies, mut last_ones) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let began = start_session(&mut client, &session)?;
        let arrived = streams.await_event()?;
        last_ones.push(arrived.iter().copied().max().unwrap_or(0));
        latencies.extend(arrived);
        discard_session(&mut client, &began)?;
    }
    drop(streams);
    discard_session(&mut client, &first)?;
    let (all, last) = (Samples::new(latencies, 1), Samples::new(last_ones, 1));
    println!(
        "  median {}, p99 {}, the last of all (median) {}\n",
        time(all.median()),
        time(all.percentile(99)),
        time(last.median())
    );
    let what = format!("api: one event to {subscribers} streams, p99");
    run.targets.push(Target::at_most(&what, all.percentile(99) as f64 / 1e6, 50.0, "ms"));
    home.stop()?;
    Ok(())
}

/// Section 2: many clients that follow a session without output.
#[expect(clippy::cast_precision_loss, reason = "nanoseconds of a minute")]
pub(super) fn idle(run: &mut BenchRun) -> Result<()> {
    let (followers, watched) = (200, Duration::from_secs(if run.quick { 5 } else { 30 }));
    println!("2. {followers} clients that follow a session without output");
    let home = run.home("api-idle")?;
    let mut client = home.connect()?;
    let session = start_session(&mut client, &request::session(&IDLE)?)?;
    let daemon = home.daemon()?;
    let path = format!("/v1/sessions/{}/output?follow=true&format=sse", session.id);
    let streams = Streams::open(&home, &path, followers)?;
    let before = process::cpu_nanoseconds(daemon)?;
    std::thread::sleep(watched); // measures over time
    let used = process::cpu_nanoseconds(daemon)? - before;
    let percent = used as f64 / watched.as_nanos() as f64 * 100.0;
    let memory = process::ProcessMemory::of(daemon)?;
    println!(
        "  {percent:.2} % of a core in {} s; the daemon has {} kB of private memory\n",
        watched.as_secs(),
        memory.anonymous_kb
    );
    run.targets.push(Target::at_most("api: 200 idle followers, CPU", percent, 1.0, "%"));
    drop(streams);
    discard_session(&mut client, &session)?;
    home.stop()?;
    Ok(())
}

/// Event streams that one thread reads.
struct Streams(Vec<UnixStream>);

impl Streams {
    /// Opens the streams, and waits until each has its response.
    fn open(home: &BenchHome, path: &str, count: usize) -> Result<Self> {
        let mut streams = Vec::with_capacity(count);
        for _ in 0..count {
            let mut stream = home.connect()?.into_stream()?;
            write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
            streams.push(stream);
        }
        for stream in &mut streams {
            stream.set_read_timeout(Some(LONG))?;
            let (mut head, mut piece) = (Vec::<u8>::new(), [0; 4096]);
            // The first chunk of every stream contains the retry delay, and past events.
            while !head.windows(6).any(|window| window == b"retry:") || !head.ends_with(b"\n\n\r\n")
            {
                let read = stream.read(&mut piece)?;
                ensure!(read > 0, "a stream was closed");
                head.extend(&piece[..read]);
            }
            stream.set_nonblocking(true)?;
        }
        Ok(Self(streams))
    }

    /// Waits until all have received one event; returns how long after the event's time, in
    /// nanoseconds.
    fn await_event(&mut self) -> Result<Vec<u64>> {
        let deadline = Instant::now() + LONG;
        let mut arrived: Vec<Option<u64>> = vec![None; self.0.len()];
        let mut texts: Vec<Vec<u8>> = vec![Vec::new(); self.0.len()];
        while arrived.iter().any(Option::is_none) {
            ensure!(Instant::now() < deadline, "no event arrived");
            let waiting: Vec<usize> =
                (0..arrived.len()).filter(|place| arrived[*place].is_none()).collect();
            let ready: Vec<usize> = {
                let mut fds: Vec<_> = waiting
                    .iter()
                    .map(|place| PollFd::new(&self.0[*place], PollFlags::IN))
                    .collect();
                let second = Timespec { tv_sec: 1, tv_nsec: 0 };
                rustix::event::poll(&mut fds, Some(&second))?;
                let ready = waiting.iter().zip(&fds).filter(|(_, fd)| !fd.revents().is_empty());
                ready.map(|(place, _)| *place).collect()
            };
            for place in ready {
                let mut piece = [0; 4096];
                let read = self.0[place].read(&mut piece)?;
                let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
                ensure!(read > 0, "a stream was closed");
                texts[place].extend(&piece[..read]);
                if let Some(sent_ms) = time_in(&texts[place]) {
                    let now = u64::try_from(now.as_nanos())? % (DAY_MS * 1_000_000);
                    arrived[place] = Some(now.saturating_sub(sent_ms * 1_000_000));
                }
            }
        }
        Ok(arrived.into_iter().flatten().collect())
    }
}

/// Returns the time of the event, in milliseconds of its day, once it is complete.
fn time_in(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let (_, time) = text.split_once("\"time\":\"")?;
    let (_, clock) = time.get(..24)?.split_once('T')?;
    let number = |range: std::ops::Range<usize>| clock.get(range)?.parse::<u64>().ok();
    let seconds = (number(0..2)? * 60 + number(3..5)?) * 60 + number(6..8)?;
    text.ends_with("\n\n\r\n").then_some(seconds * 1000 + number(9..12)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_time_of_a_complete_event() {
        let event = "4f\r\nid: 7\ndata: {\"time\":\"2026-01-31T01:02:03.004Z\"}\n\n\r\n";
        assert_eq!(time_in(event.as_bytes()), Some(3_723_004));
        assert_eq!(time_in(&event.as_bytes()[..event.len() - 3]), None);
        assert_eq!(time_in(b""), None);
    }
}
