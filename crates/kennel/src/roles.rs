//! The other roles of this program: yard, daemon and terminal guard. The name in argv\[0] selects
//! one. Only this module knows the arguments of these roles.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use kennel_daemon::{DaemonConfig, DaemonError, LockHomeError};
use kennel_http::HttpConfig;
use kennel_keeper::yard::{self, KEPT_VARIABLE, RESUME_VARIABLE, YardConfig, YardEnd, YardResume};
use kennel_sys::clone::{self, ChildSpec};
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};

use crate::command_prelude::*;
use crate::config::DaemonSettings;
use crate::connect::spawn_yard;
use crate::{doctor, foreground};

pub(crate) const YARD: &str = "kennel-yard";
/// The process that restores a terminal.
pub(crate) const TERMINAL_GUARD: &str = "kennel-tty";
/// The start of the last log line of a daemon that can't serve.
pub(crate) const CANT_SERVE: &str = "kennel-daemon: can't serve: ";

/// Runs a role and exits, if this process was started for one; otherwise returns at once.
///
/// Must be called before any thread is started.
pub(crate) fn take() {
    kennel_pen::supervisor::run_if_supervisor();
    doctor::take_trial_role();
    let code = match std::env::args_os().next().as_deref().and_then(OsStr::to_str) {
        Some(YARD) => run_yard(),
        Some(yard::DAEMON) => run_daemon(),
        Some(TERMINAL_GUARD) => foreground::serve_as_guard().map_or(1, |()| 0),
        _ => return,
    };
    std::process::exit(code);
}

/// Starts this program in a role, in its own POSIX session and without our folder, descriptors and
/// variables.
pub(crate) fn spawn(
    argv: Vec<CString>,
    env: Vec<CString>,
    streams: [BorrowedFd<'_>; 3],
    deadline: Instant,
) -> anyhow::Result<OwnedFd> {
    let start = ChildSpec {
        path: CString::from(c"/proc/self/exe"),
        argv,
        env,
        folder: Some(CString::from(c"/")),
        umask: Some(0o077),
        limits: Vec::new(),
        streams,
        terminal: false,
        cgroup: None,
    };
    Ok(clone::start(start)?.run(deadline)?)
}

/// Opens the home that the role was started for: its only argument.
fn home() -> anyhow::Result<HomeDir> {
    let mut args = std::env::args_os().skip(1);
    let folder = args.next().map(PathBuf::from).ok_or_else(|| anyhow!("no home given"))?;
    HomeDir::at(folder)
}

fn run_yard() -> i32 {
    let served = (|| -> anyhow::Result<YardEnd> {
        let home = home()?;
        let resumed = std::env::var(RESUME_VARIABLE).ok().map(|state| YardResume::parse(&state));
        let resumed = resumed.transpose().context("can't take over from the previous program")?;
        let kept = std::env::var(KEPT_VARIABLE).unwrap_or_default();
        let resumed = resumed.map(|resumed| resumed.keeping(&kept)).transpose();
        let resumed = resumed.context("can't take over the previous program's state")?;
        Ok(yard::run(YardConfig { home: home.folder, home_id: home.id, resumed })?)
    })();
    match served {
        Ok(YardEnd::Left) => 0,
        Ok(YardEnd::Occupied) => {
            eprintln!("{YARD}: another yard already serves this home");
            exit_code::REFUSED.into()
        }
        Err(error) => {
            eprintln!("{YARD}: {error:#}");
            exit_code::INTERNAL.into()
        }
    }
}

fn run_daemon() -> i32 {
    let served = (|| -> anyhow::Result<_> {
        let home = home()?;
        let yard = take_stdin().context("no socket to the yard")?;
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let mut config = DaemonConfig::new(home.folder.clone(), home.id.clone(), yard, version);
        config.environment = std::env::vars_os().collect();
        let mut http = HttpConfig { web: web_folder(), ..HttpConfig::default() };
        http.doctor = ["/proc/self/exe", "doctor", "--json", "--home"].map(OsString::from).into();
        http.doctor.push(home.folder.clone().into());
        apply_settings(&home, &mut config, &mut http);
        config.start_yard =
            Some(Box::new(move || spawn_yard(&home).map(drop).map_err(io::Error::other)));
        Ok(kennel_daemon::serve(config, kennel_http::server(http))?)
    })();
    let error = match served {
        Ok(reason) => return reason.code().into(),
        Err(error) => error,
    };
    match error.downcast_ref() {
        // Another daemon exits late or was faster, or the yard has died: the yard may try again.
        Some(DaemonError::Home(LockHomeError::Taken(_)) | DaemonError::Yard(_)) => {
            eprintln!("{}: {error:#}", yard::DAEMON);
            exit_code::REFUSED.into()
        }
        _ => {
            eprintln!("{CANT_SERVE}{error:#}");
            exit_code::SETUP.into()
        }
    }
}

/// Returns the folder with the dashboard's files for its development; releases embed them.
fn web_folder() -> Option<PathBuf> {
    let given = std::env::var_os("KENNEL_WEB_DIR").filter(|_| cfg!(debug_assertions));
    given.filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// Applies the settings in the home. Invalid ones are logged and must not prevent the start.
fn apply_settings(home: &HomeDir, config: &mut DaemonConfig, http: &mut HttpConfig) {
    let refused = match DaemonSettings::read(home) {
        Ok(settings) => settings.apply(config, http),
        Err(error) => vec![format!("can't read them: {error}")],
    };
    for why in refused {
        eprintln!("{}: ignoring settings in the home: {why}", yard::DAEMON);
    }
}

/// Takes the yard's socket, which arrives as standard input, and puts /dev/null in its place.
fn take_stdin() -> io::Result<OwnedFd> {
    let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    if rustix::net::sockopt::socket_domain(&socket)? != rustix::net::AddressFamily::UNIX {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    Ok(socket)
}
