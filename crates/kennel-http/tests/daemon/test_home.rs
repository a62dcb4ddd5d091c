//! A home with a yard and a daemon, observed from outside.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use kennel_daemon::{DaemonConfig, serve};
use kennel_http::HttpConfig;
use kennel_keeper::yard::{self, YardConfig};
use kennel_pen::HomeId;
use kennel_sys::identity::ProcessStat;
use kennel_sys::pidfd;
use kennel_types::PenKind;
use rustix::fd::AsFd;
use rustix::fs::FlockOperation;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::client::{self, Answer};

/// The timeout of a step.
const TIMEOUT: Duration = Duration::from_secs(40);

fn home() -> PathBuf {
    PathBuf::from(std::env::args_os().nth(1).expect("the home"))
}

fn home_id(home: &std::path::Path) -> HomeId {
    HomeId::parse(fs::read_to_string(home.join("id")).unwrap().trim()).unwrap()
}

pub(crate) fn run_yard() -> ExitCode {
    let home = home();
    let home_id = home_id(&home);
    yard::run(YardConfig { home, home_id, resumed: None }).expect("a yard");
    ExitCode::SUCCESS
}

pub(crate) fn run_daemon() -> ExitCode {
    let home = home();
    let id = home_id(&home);
    let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3).expect("the yard");
    let mut config = DaemonConfig::new(home.clone(), id, socket, "test".to_owned());
    config.start_yard = Some(Box::new(move || start_yard(&home)));
    match serve(config, kennel_http::server(HttpConfig::default())) {
        Ok(reason) => ExitCode::from(reason.code()),
        Err(error) => {
            eprintln!("daemon: {error:?}");
            ExitCode::FAILURE
        }
    }
}

fn start_yard(home: &std::path::Path) -> io::Result<()> {
    let log = fs::OpenOptions::new().create(true).append(true).open(home.join("yard.log"))?;
    let mut command = Command::new("/proc/self/exe");
    command.arg0("kennel-yard").arg(home).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    command.spawn().map(drop)
}

/// A home with a yard and a daemon. Dropping it ends all its processes.
pub(crate) struct TestHome {
    dir: tempfile::TempDir,
    pen: PenKind,
}

impl TestHome {
    pub(crate) fn open(pen: PenKind) -> Self {
        let home = Self { dir: tempfile::tempdir().unwrap(), pen };
        fs::write(home.path("id"), HomeId::random().unwrap().as_str()).unwrap();
        start_yard(home.dir.path()).unwrap();
        home.until("the daemon serves", || home.try_ask("GET", "/v1/daemon", None).ok());
        home
    }

    /// Starts another yard, after one that was killed.
    pub(crate) fn start_yard(&self) {
        start_yard(self.dir.path()).unwrap();
    }

    /// Passes a descriptor to the daemon, for a later request.
    pub(crate) fn pass_descriptor(&self, ticket: &str, descriptor: &fs::File) {
        use kennel_pen::wire::{Channel, Delivery, Received};
        use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
        let (family, kind) = (AddressFamily::UNIX, SocketType::SEQPACKET);
        let socket = socket_with(family, kind, SocketFlags::CLOEXEC, None).unwrap();
        let address = SocketAddrUnix::new(self.path("deposit.sock")).unwrap();
        rustix::net::connect(&socket, &address).unwrap();
        let channel = Channel::new(socket, 8);
        let sent = channel.send(ticket.as_bytes(), &[descriptor.as_fd()]).unwrap();
        assert_eq!(sent, Delivery::Sent);
        let answer = self.until("the daemon answers", || match channel.receive().unwrap() {
            Received::Message(bytes, _) => Some(bytes),
            Received::Nothing => None,
            Received::End => panic!("refused"),
        });
        assert_eq!(answer, b"1");
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Waits until a condition is met.
    pub(crate) fn until<T>(&self, what: &str, mut check: impl FnMut() -> Option<T>) -> T {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            if let Some(found) = check() {
                return found;
            }
            assert!(Instant::now() < deadline, "timed out: {what}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub(crate) fn try_ask(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> io::Result<Answer> {
        client::ask(&self.path("kennel.sock"), method, path, body)
    }

    /// Sends a request, and repeats it while no daemon runs.
    pub(crate) fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let away = [
            ErrorKind::NotFound,
            ErrorKind::ConnectionRefused,
            ErrorKind::ConnectionReset,
            ErrorKind::BrokenPipe,
            ErrorKind::Other,
        ];
        self.until(path, || match self.try_ask(method, path, body) {
            Ok(answer) => Some(answer),
            Err(error) if away.contains(&error.kind()) => None,
            Err(error) => panic!("{method} {path}: {error}"),
        })
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        let answer = self.ask("GET", path, None);
        assert_eq!(answer.status, 200, "{path}: {}", String::from_utf8_lossy(&answer.body));
        answer.json()
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Value {
        let answer = self.ask("POST", path, Some(body));
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        assert!((200..300).contains(&answer.status), "{path}: {text}");
        if answer.body.is_empty() { Value::Null } else { answer.json() }
    }

    pub(crate) fn request(&self, argv: &[&str]) -> Value {
        json!({
            "argv": argv, "env": {"PATH": "/usr/bin:/bin", "SECRET": "hunter2"}, "cwd": "/",
            "pen": self.pen, "grace_ms": 1000, "linger_ms": 0, "lease_ms": 60_000,
            "output_limit": 1 << 20, "asked_by": "the test",
        })
    }

    /// Starts a session and returns its view.
    pub(crate) fn run(&self, argv: &[&str]) -> Value {
        self.post("/v1/sessions", &self.request(argv))
    }

    /// Starts a shell with this script, and waits until it has written `ready` into the home.
    pub(crate) fn run_script(&self, script: &str) -> Value {
        let ready = self.path("ready");
        fs::remove_file(&ready).ok();
        let script = script.replace("READY", &format!("echo > {}", ready.display()));
        let session = self.run(&["/bin/sh", "-c", &script]);
        assert_eq!(session["phase"], "running", "{session}");
        self.until("the script is ready", || ready.exists().then_some(()));
        session
    }

    pub(crate) fn show(&self, session: &Value) -> Value {
        self.get(&format!("/v1/sessions/{}", session["id"].as_str().unwrap()))
    }

    pub(crate) fn wait(&self, session: &Value) -> Value {
        self.get(&format!("/v1/sessions/{}/wait", session["id"].as_str().unwrap()))
    }

    pub(crate) fn stop(&self, session: &Value) -> Value {
        let id = session["id"].as_str().unwrap();
        self.post(&format!("/v1/sessions/{id}/stop"), &json!({"by": "the test"}))
    }

    pub(crate) fn daemon_pid(&self) -> i32 {
        pid(&self.get("/v1/daemon")["pid"])
    }

    pub(crate) fn yard_pid(&self) -> i32 {
        pid(&self.get("/v1/daemon")["yard_pid"])
    }

    pub(crate) fn keeper_pid(&self, session: &Value) -> i32 {
        let id = session["id"].as_str().unwrap();
        pid(&self.get(&format!("/v1/sessions/{id}/inspect"))["keeper_pid"])
    }

    /// Kills the daemon and returns its pid.
    pub(crate) fn kill_daemon(&self) -> i32 {
        let pid = self.daemon_pid();
        signal(pid, Signal::KILL);
        self.gone(pid);
        pid
    }

    /// Waits until a process is gone or a zombie.
    pub(crate) fn gone(&self, pid: i32) {
        self.until("a process is gone", || {
            ProcessStat::read(pid).unwrap().is_none_or(|stat| stat.is_dead()).then_some(())
        });
    }

    /// Returns the pids of all processes with this text in their command line.
    pub(crate) fn processes(&self, text: &str) -> Vec<i32> {
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            if String::from_utf8_lossy(&command).replace('\0', " ").contains(text) {
                found.push(pid);
            }
        }
        found
    }

    /// Checks that no stray and no runtime file of a cleaned session remains.
    pub(crate) fn assert_clean(&self, session: &Value) {
        let folder = PathBuf::from(session["folder"].as_str().unwrap());
        assert!(!folder.join("keeper.sock").exists(), "its socket remains");
        // Its keeper releases the lock once the outcome is on record.
        self.until("its lock is free", || {
            let lock = fs::File::open(folder.join("lock")).ok();
            let free =
                |lock| rustix::fs::flock(lock, FlockOperation::NonBlockingLockShared).is_ok();
            lock.is_none_or(free).then_some(())
        });
        let strays = self.get("/v1/strays");
        assert_eq!(strays["strays"], json!([]));
        if let Some(pen) = session["pen"].as_str().filter(|pen| pen.starts_with('/')) {
            assert!(!PathBuf::from(pen).exists(), "{pen} remains");
        }
    }

    pub(crate) fn show_log(&self) {
        for name in ["log/daemon.log", "yard.log"] {
            let text = fs::read_to_string(self.path(name)).unwrap_or_default();
            eprintln!("--- {name}\n{text}");
        }
    }
}

pub(crate) fn pid(value: &Value) -> i32 {
    value.as_i64().and_then(|pid| pid.try_into().ok()).expect("a pid")
}

pub(crate) fn signal(pid: i32, signal: Signal) {
    if let Some(handle) = pidfd::open(pid).unwrap() {
        pidfd::send(handle, signal).ok();
    }
}

impl Drop for TestHome {
    fn drop(&mut self) {
        let yard = || fs::read_to_string(self.path("yard.lock")).ok()?.trim().parse::<i32>().ok();
        let stop = json!({"keep": false, "grace_ms": 0});
        self.try_ask("POST", "/v1/daemon/stop", Some(&stop)).ok();
        if let Some(yard) = yard() {
            let deadline = Instant::now() + Duration::from_secs(5);
            let alive =
                || ProcessStat::read(yard).ok().flatten().is_some_and(|stat| !stat.is_dead());
            while alive() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(5));
            }
            if alive() {
                eprintln!("the yard still runs");
                signal(yard, Signal::KILL);
            }
        }
    }
}
