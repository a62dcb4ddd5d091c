//! supervisord: eight programs, each started repeatedly over XML-RPC.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use super::{AT_ONCE, Peer, Started, folder};
use crate::session::disk::run;
use crate::session::guard::{CleanupGuard, CleanupItem, end_server};
use crate::session::home::{LONG, joined};
use crate::session::serial::TRUE;
use kennel_testing::HttpClient;

/// A running supervisord.
pub(crate) struct Supervisord {
    socket: PathBuf,
    pid_file: PathBuf,
}

impl Supervisord {
    /// Installs supervisord if necessary, and starts it.
    pub(crate) fn start(
        guard: &mut CleanupGuard,
        scratch: &Path,
        programs: usize,
    ) -> Started<Self> {
        Self::try_start(guard, scratch, programs).map_err(|error| format!("{error:#}"))
    }

    fn try_start(guard: &mut CleanupGuard, scratch: &Path, programs: usize) -> Result<Self> {
        let installed = folder("supervisord")?;
        let program = installed.join("bin/supervisord");
        if !program.is_file() {
            run(Command::new("python3").args(["-m", "venv"]).arg(&installed))?;
            run(Command::new(installed.join("bin/pip")).args([
                "install",
                "-q",
                "setuptools<81",
                "supervisor",
            ]))?;
        }
        let own = scratch.join("supervisord");
        fs::create_dir(&own)?;
        let (socket, pid_file) = (own.join("socket"), own.join("pid"));
        let mut text = format!(
            "[supervisord]\nlogfile={own}/log\npidfile={own}/pid\nchildlogdir={own}\n\
             [unix_http_server]\nfile={own}/socket\n\
             [rpcinterface:supervisor]\n\
             supervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface\n",
            own = own.display()
        );
        for index in 0..programs {
            text += &format!(
                "[program:p{index}]\ncommand={TRUE}\nautostart=false\nautorestart=false\nstartsecs=0\n"
            );
        }
        fs::write(own.join("conf"), text)?;
        guard.announce(CleanupItem::Server, &pid_file)?;
        run(Command::new(program).arg("-c").arg(own.join("conf")).stdout(Stdio::null()))?;
        let deadline = Instant::now() + LONG;
        while !socket.exists() || !pid_file.exists() {
            ensure!(Instant::now() < deadline, "supervisord does not start");
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(Self { socket, pid_file })
    }

    /// Requests the state of all programs.
    pub(crate) fn list(&self, programs: usize) -> Result<()> {
        const CALL: &[u8] =
            b"<?xml version='1.0'?><methodCall><methodName>supervisor.getAllProcessInfo\
            </methodName><params></params></methodCall>";
        let mut client = HttpClient::connect_to(&self.socket).context("its socket")?;
        let answer = client.request_with_type("POST", "/RPC2", "text/xml", CALL)?;
        let text = String::from_utf8_lossy(&answer.body);
        let listed = text.matches("<name>statename</name>").count();
        ensure!(listed == programs, "only {listed} of {programs} programs are listed");
        Ok(())
    }

    /// Starts the program once it is not running; no call waits for its end.
    fn start_program(&self, client: &mut HttpClient, index: usize) -> Result<()> {
        let call = format!(
            "<?xml version='1.0'?><methodCall><methodName>supervisor.startProcess</methodName><params>\
             <param><value><string>p{index}</string></value></param>\
             <param><value><boolean>1</boolean></value></param></params></methodCall>"
        );
        let deadline = Instant::now() + LONG;
        loop {
            let answer = client.request_with_type("POST", "/RPC2", "text/xml", call.as_bytes())?;
            let text = String::from_utf8_lossy(&answer.body);
            match () {
                () if text.contains("ALREADY_STARTED") => {}
                // It had ended before supervisord checked.
                () if text.contains("ABNORMAL_TERMINATION") => return Ok(()),
                () if text.contains("<fault>") => bail!("{text}"),
                () => return Ok(()),
            }
            ensure!(Instant::now() < deadline, "{TRUE} does not end");
        }
    }
}

impl Peer for Supervisord {
    fn name(&self) -> String {
        "supervisord (startProcess)".to_owned()
    }

    fn batch(&self) -> usize {
        5 * AT_ONCE
    }

    fn run(&mut self, count: usize) -> Result<Duration> {
        let begun = Instant::now();
        std::thread::scope(|scope| {
            let this = &*self;
            let threads: Vec<_> = (0..AT_ONCE)
                .map(|index| {
                    scope.spawn(move || -> Result<()> {
                        let mut client =
                            HttpClient::connect_to(&this.socket).context("its socket")?;
                        let rounds = count / AT_ONCE;
                        (0..rounds).try_for_each(|_| this.start_program(&mut client, index))
                    })
                })
                .collect();
            threads.into_iter().try_for_each(joined)
        })?;
        Ok(begun.elapsed())
    }
}

impl Drop for Supervisord {
    fn drop(&mut self) {
        // The guard tries again.
        end_server(&self.pid_file).ok();
    }
}
