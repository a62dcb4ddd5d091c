//! Measures how long a key takes from the keeper's socket through the agent into the journal,
//! beside a session that floods its own journal.

use std::time::{Duration, Instant};

use anyhow::Result;
use kennel_keeper::protocol::{KeeperReport, KeeperRequest};

use super::home::{BenchHome, SessionBrief, discard_session, start_session};
use super::output::{Keeper, generator};
use super::turns::{Contender, take_turns};
use super::{BenchRun, request};
use crate::launch::print_measured;
use crate::stats::{nanoseconds, time};
use crate::target::Target;
use crate::worker::Rounds;
use kennel_testing::HttpClient;

/// An agent that echoes each key itself: the terminal does not echo, and nothing is buffered.
pub(super) const ECHO: [&str; 3] = ["/bin/sh", "-c", "stty raw -echo; echo; exec cat"];
/// The pause between two keys.
const PAUSE: Duration = Duration::from_millis(3);

const STOP: i32 = 19;
const CONT: i32 = 18;

/// Section 5, the second half.
pub(super) fn section(run: &mut BenchRun) -> Result<()> {
    println!("5. the echo of a key through an agent in a terminal, beside a session that floods");
    let home = run.home("echo")?;
    let mut client = home.connect()?;
    let typed = start_session(&mut client, &request::terminal_session(&ECHO)?)?;
    let keeper = Keeper::of(&typed)?;
    keeper.send(&KeeperRequest::Follow)?;
    // The first line shows that the terminal is configured.
    keeper.wait_for(|report| matches!(report, KeeperReport::Grown(_)).then_some(()))?;
    let floods = [("64 KiB writes", 64 << 10), ("80-byte lines", 80)]
        .map(|(name, chunk)| Ok::<_, anyhow::Error>((name, Flood::start(&home, chunk)?)));
    let mut contenders: Vec<Box<dyn Contender + '_>> =
        vec![Box::new(KeyEcho { name: "alone".to_owned(), keeper: &keeper, flood: None })];
    for flood in floods {
        let (name, flood) = flood?;
        let name = format!("beside a flood of {name}");
        contenders.push(Box::new(KeyEcho { name, keeper: &keeper, flood: Some(flood) }));
    }
    let turns = if run.quick { 5 } else { 20 };
    let measured = take_turns(&mut contenders, Rounds { warm_up: 20, turns, batch: 100 })?;
    drop(contenders);
    let alone = measured[0].time();
    print_measured(&measured, &[("alone", alone)]);
    for flooded in &measured {
        let samples = flooded.time();
        println!("  {:<34}p99 {}", flooded.name, time(samples.percentile(99)));
    }
    println!();
    for flooded in &measured[1..] {
        let what = format!("echo: {} / alone", flooded.name);
        run.targets.push(Target::ratio(&what, flooded.time().ratio_to(alone), 2.0));
    }
    discard_session(&mut client, &typed)?;
    home.stop()?;
    Ok(())
}

/// A session that prints without end while it is not stopped.
struct Flood {
    client: HttpClient,
    session: SessionBrief,
}

impl Flood {
    fn start(home: &BenchHome, chunk: usize) -> Result<Self> {
        let argv = generator(chunk, u64::MAX)?;
        let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
        let mut client = home.connect()?;
        let session = start_session(&mut client, &request::session(&argv)?)?;
        let mut flood = Self { client, session };
        flood.signal(STOP)?;
        Ok(flood)
    }

    fn signal(&mut self, signal: i32) -> Result<()> {
        let target = format!("/v1/sessions/{}/signal", self.session.id);
        self.client.send("POST", &target, format!("{{\"signal\":{signal}}}").as_bytes())
    }
}

/// One key after another.
struct KeyEcho<'a> {
    name: String,
    keeper: &'a Keeper,
    flood: Option<Flood>,
}

impl Contender for KeyEcho<'_> {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn begin(&mut self) -> Result<()> {
        if let Some(flood) = &mut self.flood {
            flood.signal(CONT)?;
        }
        // Lets the flood reach its full speed, or end.
        std::thread::sleep(10 * PAUSE);
        Ok(())
    }

    fn round(&mut self) -> Result<u64> {
        let begun = Instant::now();
        self.keeper.send(&KeeperRequest::Input(b"x".to_vec()))?;
        self.keeper.wait_for(|report| matches!(report, KeeperReport::Grown(_)).then_some(()))?;
        let took = begun.elapsed();
        std::thread::sleep(PAUSE);
        Ok(nanoseconds(took))
    }

    fn end(&mut self) -> Result<()> {
        match &mut self.flood {
            Some(flood) => flood.signal(STOP),
            None => Ok(()),
        }
    }
}
