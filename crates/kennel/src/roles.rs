//! The other roles of this program, known by the name that it is called by. The only place that knows what
//! yard and daemon are started with.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use kennel_daemon::{DaemonConfig, DaemonError, LockHomeError};
use kennel_http::HttpConfig;
use kennel_keeper::yard::{self, KEPT_VARIABLE, RESUME_VARIABLE, YardConfig, YardEnd, YardResume};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};

use crate::config::DaemonSettings;
use crate::connect::spawn_yard;
use crate::home::Home;
use crate::{doctor, exit_code, foreground};

/// The yard.
pub(crate) const YARD: &str = "kennel-yard";
/// The process that puts a terminal back.
pub(crate) const TERMINAL_GUARD: &str = "kennel-tty";
/// What a daemon that can't serve begins its last words with.
pub(crate) const CANT_SERVE: &str = "kennel-daemon: can't serve: ";

/// Plays a role and exits, if this process was started for one; else returns at once.
///
/// To be called first thing, before any thread is started.
pub(crate) fn take() {
    kennel_pen::holder::take_role();
    doctor::take_trial_role();
    let code = match std::env::args_os().next().as_deref().and_then(OsStr::to_str) {
        Some(YARD) => be_yard(),
        Some(yard::DAEMON) => be_daemon(),
        Some(TERMINAL_GUARD) => foreground::serve_as_guard().map_or(1, |()| 0),
        _ => return,
    };
    std::process::exit(code);
}

/// The home that a role was started for: its only argument.
fn home() -> anyhow::Result<Home> {
    let mut args = std::env::args_os().skip(1);
    let folder = args.next().map(PathBuf::from).ok_or_else(|| anyhow!("no home given"))?;
    Home::at(folder)
}

fn be_yard() -> i32 {
    let served = (|| -> anyhow::Result<YardEnd> {
        let home = home()?;
        let resumed = std::env::var(RESUME_VARIABLE).ok().map(|state| YardResume::parse(&state));
        let resumed = resumed.transpose().context("can't take over from the former program")?;
        let kept = std::env::var(KEPT_VARIABLE).unwrap_or_default();
        let resumed = resumed.map(|resumed| resumed.keeping(&kept)).transpose();
        let resumed = resumed.context("can't take what the former program kept")?;
        Ok(yard::run(YardConfig { home: home.folder, home_id: home.id, resumed })?)
    })();
    match served {
        Ok(YardEnd::Left) => 0,
        Ok(YardEnd::Occupied) => {
            eprintln!("{YARD}: another yard serves this home");
            exit_code::REFUSED.into()
        }
        Err(error) => {
            eprintln!("{YARD}: {error:#}");
            exit_code::INTERNAL.into()
        }
    }
}

fn be_daemon() -> i32 {
    let served = (|| -> anyhow::Result<_> {
        let home = home()?;
        let yard = take_stdin().context("no socket to the yard")?;
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let mut config = DaemonConfig::new(home.folder.clone(), home.id.clone(), yard, version);
        config.environment = std::env::vars_os().collect();
        let mut http = HttpConfig { web: web_folder(), ..HttpConfig::default() };
        http.doctor = ["/proc/self/exe", "doctor", "--json", "--home"].map(OsString::from).into();
        http.doctor.push(home.folder.clone().into());
        heed_settings(&home, &mut config, &mut http);
        config.start_yard =
            Some(Box::new(move || spawn_yard(&home).map(drop).map_err(io::Error::other)));
        Ok(kennel_daemon::serve(config, kennel_http::server(http)))
    })();
    match served {
        Ok(Ok(reason)) => reason.code().into(),
        // Another one is about to go, or was quicker, or the yard has died: no reason to give up.
        Ok(Err(error @ (DaemonError::Home(LockHomeError::Taken(_)) | DaemonError::Yard(_)))) => {
            eprintln!("{}: {:#}", yard::DAEMON, anyhow!(error));
            exit_code::REFUSED.into()
        }
        Ok(Err(error)) => {
            eprintln!("{CANT_SERVE}{:#}", anyhow!(error));
            exit_code::SETUP.into()
        }
        Err(error) => {
            eprintln!("{CANT_SERVE}{error:#}");
            exit_code::SETUP.into()
        }
    }
}

/// For those who work on the dashboard: where its files are. Programs that others use have their own.
fn web_folder() -> Option<PathBuf> {
    let given = std::env::var_os("KENNEL_WEB_DIR").filter(|_| cfg!(debug_assertions));
    given.filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// What cannot be heeded is told in the log, and no reason to leave sessions without a daemon.
fn heed_settings(home: &Home, config: &mut DaemonConfig, http: &mut HttpConfig) {
    let refused = match DaemonSettings::read(home) {
        Ok(settings) => settings.apply(config, http),
        Err(error) => vec![format!("can't be read: {error}")],
    };
    for why in refused {
        eprintln!("{}: the settings that were left for it: {why}", yard::DAEMON);
    }
}

/// The yard's socket, which arrives as standard input; that is null from then on.
fn take_stdin() -> io::Result<OwnedFd> {
    let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    if rustix::net::sockopt::socket_domain(&socket)? != rustix::net::AddressFamily::UNIX {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    Ok(socket)
}
