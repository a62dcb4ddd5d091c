//! Measures the API as remote programs use it: over TCP, and through a WebSocket.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::Value;
use tungstenite::{Message, WebSocket};

use super::echo::ECHO;
use super::home::{BenchHome, discard_session, start_session};
use super::rest::IDLE;
use super::turns::{Contender, take_turns};
use super::{BenchRun, request};
use crate::launch::print_measured;
use crate::stats::{nanoseconds, time};
use crate::target::Target;
use crate::worker::Rounds;
use kennel_testing::HttpClient;

/// Between two keys.
const PAUSE: Duration = Duration::from_millis(3);

/// Section 4: from the request to the response that the session runs.
#[expect(clippy::cast_precision_loss, reason = "milliseconds")]
pub(super) fn create(run: &mut BenchRun) -> Result<()> {
    println!("4. starting a session, over the socket and over TCP");
    let home = run.home("api-create")?;
    let mut client = home.connect()?;
    let listen: Value = client.post("/v1/access/listen", b"{}")?;
    let secret: Value = client.get("/v1/access/token")?;
    let text = |value: &Value| value.as_str().map(ToOwned::to_owned).context("a text");
    let (address, token) = (text(&listen["address"])?, text(&secret["secret"])?);
    let request = request::session(&IDLE)?;
    let mut contenders: Vec<Box<dyn Contender>> = vec![
        Box::new(SessionStart { name: "over the socket", client, request: request.clone() }),
        Box::new(SessionStart {
            name: "over TCP, with a token",
            client: HttpClient::connect_tcp(&address, &token)?,
            request,
        }),
    ];
    let turns = if run.quick { 20 } else { 100 };
    let measured = take_turns(&mut contenders, Rounds { warm_up: 10, turns, batch: 5 })?;
    drop(contenders);
    let socket = measured[0].time();
    print_measured(&measured, &[("socket", socket)]);
    let more = (measured[1].time().median() as f64 - socket.median() as f64) / 1e6;
    run.targets.push(Target::at_most("api: more time to a session over TCP", more, 1.0, "ms"));
    home.stop()?;
    Ok(())
}

struct SessionStart {
    name: &'static str,
    client: HttpClient,
    request: Vec<u8>,
}

impl Contender for SessionStart {
    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn round(&mut self) -> Result<u64> {
        let begun = Instant::now();
        let session = start_session(&mut self.client, &self.request)?;
        let took = begun.elapsed();
        discard_session(&mut self.client, &session)?;
        Ok(nanoseconds(took))
    }
}

/// Section 5: the echo of a key.
#[expect(clippy::cast_precision_loss, reason = "milliseconds")]
pub(super) fn terminal(run: &mut BenchRun) -> Result<()> {
    println!(
        "5. the echo of a key through socket, daemon, keeper and terminal, and through a local terminal"
    );
    let home = run.home("api-terminal")?;
    let mut contenders: Vec<Box<dyn Contender>> =
        vec![Box::new(LocalTerminal::open()?), Box::new(SessionTerminal::attach(&home)?)];
    let turns = if run.quick { 5 } else { 20 };
    let measured = take_turns(&mut contenders, Rounds { warm_up: 20, turns, batch: 100 })?;
    drop(contenders);
    let own = measured[0].time();
    print_measured(&measured, &[("our own", own)]);
    for samples in &measured {
        println!("  {:<34}p99 {}", samples.name, time(samples.time().percentile(99)));
    }
    println!();
    let p99 = |index: usize| measured[index].time().percentile(99) as f64 / 1e6;
    let what = "api: more time for a key through a WebSocket, p99";
    run.targets.push(Target::at_most(what, p99(1) - p99(0), 5.0, "ms"));
    home.stop()?;
    Ok(())
}

/// A local terminal with the same agent.
struct LocalTerminal {
    terminal: File,
    agent: Child,
}

impl LocalTerminal {
    fn open() -> Result<Self> {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        grantpt(&terminal)?;
        unlockpt(&terminal)?;
        let name = ptsname(&terminal, Vec::new())?;
        let open = || -> Result<Stdio> {
            let file = File::options().read(true).write(true).open(name.to_str()?)?;
            Ok(file.into())
        };
        let mut command = Command::new(ECHO[0]);
        command.args(&ECHO[1..]).stdin(open()?).stdout(open()?).stderr(Stdio::null());
        let agent = command.spawn().context("the agent")?;
        let mut own = Self { terminal: terminal.into(), agent };
        // The first line shows that the terminal is configured.
        own.read()?;
        Ok(own)
    }

    fn read(&mut self) -> Result<()> {
        let mut buffer = [0; 64];
        ensure!(self.terminal.read(&mut buffer)? > 0, "the terminal is closed");
        Ok(())
    }
}

impl Drop for LocalTerminal {
    fn drop(&mut self) {
        self.agent.kill().ok();
        self.agent.wait().ok();
    }
}

impl Contender for LocalTerminal {
    fn name(&self) -> String {
        "a terminal of our own".to_owned()
    }

    fn round(&mut self) -> Result<u64> {
        let begun = Instant::now();
        self.terminal.write_all(b"x")?;
        self.read()?;
        let took = begun.elapsed();
        std::thread::sleep(PAUSE);
        Ok(nanoseconds(took))
    }
}

/// The terminal of a session.
struct SessionTerminal {
    socket: WebSocket<UnixStream>,
}

impl SessionTerminal {
    fn attach(home: &BenchHome) -> Result<Self> {
        let mut client = home.connect()?;
        let session = start_session(&mut client, &request::terminal_session(&ECHO)?)?;
        let url = format!("ws://localhost/v1/sessions/{}/terminal?replay=all", session.id);
        let stream = home.connect()?.into_stream()?;
        let (socket, _) = tungstenite::client(url, stream).context("the terminal is refused")?;
        let mut far = Self { socket };
        far.read_output()?;
        Ok(far)
    }

    /// Waits for output of the agent.
    fn read_output(&mut self) -> Result<()> {
        loop {
            match self.socket.read()? {
                Message::Binary(_) => return Ok(()),
                Message::Close(why) => bail!("the terminal is closed: {why:?}"),
                _ => {}
            }
        }
    }
}

impl Contender for SessionTerminal {
    fn name(&self) -> String {
        "a session's, by WebSocket".to_owned()
    }

    fn round(&mut self) -> Result<u64> {
        let begun = Instant::now();
        self.socket.send(Message::binary(b"x".to_vec()))?;
        self.read_output()?;
        let took = begun.elapsed();
        std::thread::sleep(PAUSE);
        Ok(nanoseconds(took))
    }
}
