//! pm2: through its own library, since its command line takes most of a second.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use super::{AT_ONCE, Peer, Started, exists, folder};
use crate::session::disk::run;
use crate::session::guard::{CleanupGuard, CleanupItem, end_server};
use crate::session::serial::TRUE;

/// Reads a number from each line of its input, starts that many programs, eight at once, and prints
/// the milliseconds. Each is removed when it has ended.
const SCRIPT: &str = r"
const pm2 = require('pm2'), readline = require('readline');
let serial = 0;
function one() {
  return new Promise((resolve, reject) => {
    const name = 's' + serial++;
    const options = { name, script: PROGRAM, interpreter: 'none', autorestart: false };
    pm2.start(options, error => {
      if (error) return reject(error);
      const look = () => pm2.describe(name, (error, list) => {
        if (error) return reject(error);
        if (list.length && list[0].pm2_env.status === 'stopped')
          return pm2.delete(name, error => error ? reject(error) : resolve());
        setTimeout(look, 1);
      });
      look();
    });
  });
}
async function many(count) {
  let left = count;
  const lane = async () => { while (left-- > 0) await one(); };
  await Promise.all(Array.from({ length: LANES }, lane));
}
pm2.connect(error => {
  if (error) throw error;
  console.log('ready');
  const lines = readline.createInterface({ input: process.stdin });
  lines.on('line', async line => {
    const begun = process.hrtime.bigint();
    try { await many(Number(line)); } catch (error) { console.log('failed ' + error); process.exit(1); }
    console.log(String(process.hrtime.bigint() - begun));
  });
  lines.on('close', () => pm2.killDaemon(() => process.exit(0)));
});
";

/// A pm2 daemon and a script that uses its library.
pub(crate) struct Pm2 {
    driver: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    pid_file: PathBuf,
}

impl Pm2 {
    /// Installs pm2 if necessary, and starts it.
    pub(crate) fn start(guard: &mut CleanupGuard, scratch: &Path) -> Started<Self> {
        if !exists("node", "--version") {
            return Err("there is no node".to_owned());
        }
        Self::try_start(guard, scratch).map_err(|error| format!("{error:#}"))
    }

    fn try_start(guard: &mut CleanupGuard, scratch: &Path) -> Result<Self> {
        let installed = folder("pm2")?;
        if !installed.join("node_modules/pm2/package.json").is_file() {
            let mut npm = Command::new("npm");
            npm.args(["install", "--no-audit", "--no-fund", "--silent", "pm2@6", "--prefix"]);
            run(npm.arg(&installed))?;
        }
        let own = scratch.join("pm2");
        fs::create_dir(&own)?;
        let pid_file = own.join("pm2.pid");
        guard.announce(CleanupItem::Server, &pid_file)?;
        let script = SCRIPT.replace("PROGRAM", &format!("{TRUE:?}"));
        let script = script.replace("LANES", &AT_ONCE.to_string());
        let mut driver = Command::new("node")
            .args(["-e", &script])
            .current_dir(&installed)
            .env("PM2_HOME", &own)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let orders = driver.stdin.take();
        let answers = BufReader::new(driver.stdout.take().context("it has an output")?);
        let mut pm2 = Self { driver, orders, answers, pid_file };
        match pm2.line()?.as_str() {
            "ready" => Ok(pm2),
            other => bail!("pm2 does not start: {other:?}"),
        }
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        Ok(line.trim().to_owned())
    }
}

impl Peer for Pm2 {
    fn name(&self) -> String {
        "pm2 (its library)".to_owned()
    }

    fn batch(&self) -> usize {
        2 * AT_ONCE
    }

    fn run(&mut self, count: usize) -> Result<Duration> {
        let orders = self.orders.as_mut().context("it has an input")?;
        writeln!(orders, "{count}")?;
        let line = self.line()?;
        let took = line.parse().with_context(|| format!("unexpected output {line:?}"))?;
        Ok(Duration::from_nanos(took))
    }
}

impl Drop for Pm2 {
    fn drop(&mut self) {
        // The script ends its server and itself; the guard cleans up the rest.
        self.orders = None;
        self.driver.wait().ok();
        end_server(&self.pid_file).ok();
    }
}
