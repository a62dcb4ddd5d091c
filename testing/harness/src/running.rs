//! A running program under test.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::condition::{DEADLINE, eventually};

/// The exit status and the output of a program.
#[derive(Debug)]
pub struct Ended {
    /// The exit code; -N if signal N ended it.
    pub code: i32,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    /// How long it took from start to end.
    pub took: Duration,
}

/// A running program. Dropping this kills it.
#[derive(Debug)]
pub struct Running {
    child: Child,
    started: Instant,
    lines: mpsc::Receiver<String>,
    rest: String,
    errors: mpsc::Receiver<String>,
}

impl Running {
    /// Starts a program with pipes for its output.
    ///
    /// # Panics
    /// If it can't be started.
    #[must_use]
    pub fn start(mut command: Command) -> Self {
        let started = Instant::now();
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Self::spawn(command, started)
    }

    /// Starts a program with a pipe for its standard output and a file for its standard error.
    ///
    /// # Panics
    /// If it can't be started.
    #[must_use]
    pub fn start_with_errors_in(mut command: Command, errors: &std::path::Path) -> Self {
        let errors = File::create(errors).expect("a file for errors");
        command.stdout(Stdio::piped()).stderr(errors);
        Self::spawn(command, Instant::now())
    }

    fn spawn(mut command: Command, started: Instant) -> Self {
        let mut child = command.spawn().expect("the program starts");
        let (sender, lines) = mpsc::channel();
        let stdout = child.stdout.take().expect("piped");
        thread::spawn(move || {
            let mut reader = BufReader::new(stdout);
            let mut line = Vec::new();
            while reader.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
                if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    return;
                }
                line.clear();
            }
        });
        let stderr = child.stderr.take();
        let (sender, errors) = mpsc::channel();
        thread::spawn(move || {
            let mut text = Vec::new();
            stderr.map(|mut stderr| stderr.read_to_end(&mut text));
            sender.send(String::from_utf8_lossy(&text).into_owned()).ok();
        });
        Self { child, started, lines, rest: String::new(), errors }
    }

    /// Waits until it has printed this line.
    ///
    /// # Panics
    /// If it does not print the line in time.
    #[track_caller]
    pub fn wait_line(&mut self, wanted: &str) -> &mut Self {
        let deadline = Instant::now() + DEADLINE;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    self.rest.push_str(&line);
                    if line.trim_end() == wanted {
                        return self;
                    }
                }
                Err(error) => {
                    panic!("{wanted:?} was not printed ({error}); so far: {:?}", self.rest)
                }
            }
        }
    }

    /// Waits until the fake agent is ready.
    ///
    /// # Panics
    /// If it does not become ready in time.
    #[track_caller]
    pub fn wait_ready(&mut self) -> &mut Self {
        self.wait_line("ready")
    }

    /// Returns the pid.
    #[must_use]
    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("a pid")
    }

    /// Takes its standard input, if that is a pipe.
    #[must_use]
    pub fn stdin(&mut self) -> Option<std::process::ChildStdin> {
        self.child.stdin.take()
    }

    /// Sends a signal by its name, such as `TERM`. The program is a child that is not reaped yet.
    ///
    /// # Panics
    /// If that fails.
    pub fn signal(&self, name: &str) -> &Self {
        signal(self.pid(), name);
        self
    }

    /// Returns whether it has ended.
    ///
    /// # Panics
    /// If `waitpid` fails.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a child of this process").is_some()
    }

    /// Waits for its end, but not for the end of its output, for tests in which another process
    /// keeps the pipes open.
    ///
    /// # Panics
    /// If it does not end in time.
    #[track_caller]
    #[must_use]
    pub fn wait_without_output(mut self) -> i32 {
        eventually("the program ends", || self.has_ended());
        let status = self.child.try_wait().expect("a child of this process").expect("just seen");
        status.code().unwrap_or(-1)
    }

    /// Waits for its end and for the end of its output.
    ///
    /// # Panics
    /// If it does not end in time.
    #[track_caller]
    #[must_use]
    pub fn wait(mut self) -> Ended {
        let mut status: Option<ExitStatus> = None;
        eventually("the program ends", || {
            status = self.child.try_wait().expect("a child of this process");
            status.is_some()
        });
        let took = self.started.elapsed();
        let status = status.expect("just seen");
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        let code = status.code().unwrap_or_else(|| -signal.unwrap_or(0));
        // A stray that holds the pipe open is a failure.
        let mut stdout = std::mem::take(&mut self.rest);
        let deadline = Instant::now() + DEADLINE;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => stdout.push_str(&line),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => panic!("another process holds stdout open"),
            }
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let stderr = self.errors.recv_timeout(left).expect("stderr is closed");
        Ended { code, stdout, stderr, took }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Sends a signal to a process that belongs to the caller.
///
/// # Panics
/// If that fails.
pub fn signal(pid: i32, name: &str) {
    let sent = Command::new("kill").args([format!("-{name}"), pid.to_string()]).status();
    assert!(sent.expect("kill is installed").success(), "kill -{name} {pid}");
}

/// A terminal with a program, as a user has it: keys go in, a screen comes out.
#[derive(Debug)]
pub struct Screen {
    keys: File,
    shown: mpsc::Receiver<Vec<u8>>,
    text: String,
}

impl Screen {
    /// Creates the user's side of a terminal.
    ///
    /// # Panics
    /// If the descriptor can't be duplicated.
    #[must_use]
    pub fn new(master: OwnedFd) -> Self {
        let keys = File::from(master);
        let mut from = keys.try_clone().expect("a second handle");
        let (sender, shown) = mpsc::channel();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = from.read(&mut buffer) {
                if sender.send(buffer[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { keys, shown, text: String::new() }
    }

    /// Presses keys.
    ///
    /// # Panics
    /// If the terminal is closed.
    pub fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    /// Waits until this text appears, after the text of the previous wait.
    ///
    /// # Panics
    /// If it does not appear in time.
    #[track_caller]
    pub fn wait_for(&mut self, wanted: &str) {
        let deadline = Instant::now() + DEADLINE;
        loop {
            if let Some(at) = self.text.find(wanted) {
                self.text.drain(..at + wanted.len());
                return;
            }
            match self.shown.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.text.push_str(&String::from_utf8_lossy(&bytes)),
                Err(error) => panic!("{wanted:?} was not shown ({error}); so far: {:?}", self.text),
            }
        }
    }

    /// Returns the terminal itself, to read its settings or to change its size.
    #[must_use]
    pub fn terminal(&self) -> &File {
        &self.keys
    }
}
