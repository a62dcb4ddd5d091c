//! Measures output through a session into its journal, against `tee` into a file on the same disk.

use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use kennel_keeper::KeeperClient;
use kennel_keeper::protocol::{KeeperReport, KeeperRequest, KeeperState, PeerRole, VERSION};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::home::{BenchHome, LONG, SessionBrief, discard_session, start_session, wait_readable};
use super::turns::{Contender, take_turns};
use super::{BenchRun, generate, process, request};
use crate::launch::print_measured;
use crate::stats::{Samples, nanoseconds};
use crate::target::Target;
use crate::worker::Rounds;
use kennel_testing::HttpClient;

/// The amount and the chunk size of the output, and the target.
struct OutputCase {
    name: &'static str,
    chunk: usize,
    bytes: u64,
    rounds: usize,
    limit: f64,
}

/// Section 5, the first half.
pub(super) fn section(run: &mut BenchRun) -> Result<()> {
    let home = run.home("output")?;
    let (large, small) = if run.quick { (256 << 20, 32 << 20) } else { (1 << 30, 256 << 20) };
    let rounds = if run.quick { 3 } else { 9 };
    let kinds = [
        OutputCase { name: "64 KiB writes", chunk: 64 << 10, bytes: large, rounds, limit: 1.1 },
        OutputCase { name: "80-byte lines", chunk: 80, bytes: small, rounds, limit: 1.0 },
    ];
    for kind in kinds {
        compare(run, &home, &kind)?;
    }
    home.stop()?;
    Ok(())
}

fn compare(run: &mut BenchRun, home: &BenchHome, kind: &OutputCase) -> Result<()> {
    let OutputCase { name, chunk, bytes, rounds, limit } = *kind;
    println!("5. output: {} MiB in {name}, against tee into a file", bytes >> 20);
    let mut through = SessionOutput::new(home, chunk, bytes)?;
    let mut tee = Tee { chunk, bytes, file: home.folder.join("tee"), cpu: Vec::new() };
    let measured = {
        let mut contenders: Vec<Box<dyn Contender + '_>> =
            vec![Box::new(&mut through), Box::new(&mut tee)];
        take_turns(&mut contenders, Rounds { warm_up: 1, turns: rounds, batch: 1 })?
    };
    let (kennel, other) = (measured[0].time(), measured[1].time());
    print_measured(&measured, &[("tee", other)]);
    for (who, time, cpu) in [("kennel", kennel, &through.cpu), ("tee", other, &tee.cpu)] {
        print_rate(who, bytes, time, cpu);
    }
    println!();
    let what = format!("output: {name}, throughput / tee");
    run.targets.push(Target::at_least(&what, other.ratio_to(kennel), limit));
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "megabytes, and nanoseconds of seconds")]
fn print_rate(who: &str, bytes: u64, time: &Samples, cpu: &[u64]) {
    let cpu = Samples::new(cpu.to_vec(), 1).median();
    let rate = (bytes >> 20) as f64 / Duration::from_nanos(time.median()).as_secs_f64();
    let share = cpu as f64 / time.median() as f64 * 100.0;
    println!(
        "  {who:<8}{rate:>8.0} MiB/s, CPU of the reader: {:>6.0} ms ({share:.0} % of a core)",
        cpu as f64 / 1e6
    );
}

/// Returns the command of the agent that prints.
pub(super) fn generator(chunk: usize, bytes: u64) -> Result<Vec<String>> {
    let me = std::env::current_exe().context("finding my own program")?;
    let me = me.to_str().context("the path is not UTF-8")?.to_owned();
    Ok(vec![me, generate::ARGUMENT.to_owned(), chunk.to_string(), bytes.to_string()])
}

/// A connection to a keeper.
pub(super) struct Keeper {
    client: KeeperClient,
    pub(super) pid: i32,
}

impl Keeper {
    pub(super) fn of(session: &SessionBrief) -> Result<Self> {
        let mut keeper = Self { client: KeeperClient::connect(&session.folder)?, pid: 0 };
        keeper.send(&KeeperRequest::Hello { version: VERSION, role: PeerRole::Client })?;
        keeper.pid = keeper.wait_for(|report| match report {
            KeeperReport::Hello { pid, .. } => Some(pid),
            _ => None,
        })?;
        Ok(keeper)
    }

    pub(super) fn send(&self, request: &KeeperRequest) -> Result<()> {
        Ok(self.client.send(request)?)
    }

    /// Waits for the report for which `pick` returns something.
    pub(super) fn wait_for<T>(&self, mut pick: impl FnMut(KeeperReport) -> Option<T>) -> Result<T> {
        let deadline = Instant::now() + LONG;
        loop {
            match self.client.receive()? {
                Some((report, _)) => {
                    if let Some(answer) = pick(report) {
                        return Ok(answer);
                    }
                }
                None => wait_readable(&self.client, deadline)?,
            }
        }
    }

    fn state(&self) -> Result<KeeperState> {
        self.send(&KeeperRequest::Status)?;
        self.wait_for(|report| match report {
            KeeperReport::State(state) => Some(*state),
            _ => None,
        })
    }
}

/// Output through a session. The time ends when everything is in the journal.
struct SessionOutput<'a> {
    home: &'a BenchHome,
    client: HttpClient,
    request: Vec<u8>,
    bytes: u64,
    done: UnixDatagram,
    /// The CPU time of the keeper in each round.
    cpu: Vec<u64>,
}

impl<'a> SessionOutput<'a> {
    fn new(home: &'a BenchHome, chunk: usize, bytes: u64) -> Result<Self> {
        let socket = home.folder.join(format!("done-{chunk}"));
        let done = UnixDatagram::bind(&socket).context("a socket for the end of the output")?;
        done.set_read_timeout(Some(LONG))?;
        let mut argv = generator(chunk, bytes)?;
        argv.push(socket.to_str().context("the path is not UTF-8")?.to_owned());
        let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
        let request = request::session(&argv)?;
        Ok(Self { home, client: home.connect()?, request, bytes, done, cpu: Vec::new() })
    }
}

impl Contender for &mut SessionOutput<'_> {
    fn name(&self) -> String {
        "kennel, into the journal".to_owned()
    }

    fn begin(&mut self) -> Result<()> {
        settle(self.home)
    }

    fn round(&mut self) -> Result<u64> {
        let begun = Instant::now();
        let session = start_session(&mut self.client, &self.request)?;
        self.done.recv(&mut [0; 16]).context("the agent does not finish")?;
        let keeper = Keeper::of(&session)?;
        while keeper.state()?.journal_end < self.bytes {
            ensure!(begun.elapsed() < LONG, "some output does not reach the journal");
        }
        let took = begun.elapsed();
        self.cpu.push(process::cpu_nanoseconds(keeper.pid)?);
        discard_session(&mut self.client, &session)?;
        Ok(nanoseconds(took))
    }
}

/// `generator | tee FILE >/dev/null`.
struct Tee {
    chunk: usize,
    bytes: u64,
    file: PathBuf,
    cpu: Vec<u64>,
}

impl Contender for &mut Tee {
    fn name(&self) -> String {
        "tee, into a file".to_owned()
    }

    fn begin(&mut self) -> Result<()> {
        let folder = self.file.parent().context("no folder")?;
        flush_disk(folder)
    }

    fn round(&mut self) -> Result<u64> {
        let argv = generator(self.chunk, self.bytes)?;
        let begun = Instant::now();
        let mut agent = Command::new(&argv[0]).args(&argv[1..]).stdout(Stdio::piped()).spawn()?;
        let output = agent.stdout.take().context("it has an output")?;
        let mut tee = Command::new("tee")
            .arg(&self.file)
            .stdin(output)
            .stdout(Stdio::null())
            .spawn()
            .context("tee")?;
        wait_unreaped(&tee)?;
        let took = begun.elapsed();
        self.cpu.push(process::cpu_nanoseconds(tee.id().cast_signed())?);
        ensure!(tee.wait()?.success() && agent.wait()?.success(), "tee failed");
        let length = std::fs::metadata(&self.file)?.len();
        ensure!(length == self.bytes, "tee wrote {length} bytes");
        std::fs::remove_file(&self.file)?;
        Ok(nanoseconds(took))
    }
}

/// Waits for the end of a process without reaping it.
fn wait_unreaped(child: &Child) -> Result<()> {
    let pid = Pid::from_raw(child.id().cast_signed()).context("no pid")?;
    waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)?;
    Ok(())
}

/// Flushes the disk, so that no contender waits for the data of another.
fn settle(home: &BenchHome) -> Result<()> {
    home.until_idle()?;
    flush_disk(&home.folder)
}

fn flush_disk(folder: &std::path::Path) -> Result<()> {
    let folder = std::fs::File::open(folder)?;
    Ok(rustix::fs::syncfs(folder)?)
}
