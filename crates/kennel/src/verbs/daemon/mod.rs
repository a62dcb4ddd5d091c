//! `kennel daemon`: manages the daemon.

mod listen;
mod logs;
mod status;
mod stop;
mod unit;

use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::anyhow;
use kennel_types::api::{DaemonView, ListenState, ReplaceRequest};

use self::listen::{ListenArgs, ListenRequirement};
use crate::command_prelude::*;
use crate::config::hand_over;
use crate::connect::{environment, may_start};
use crate::roles;

/// How long a daemon may take to exit during a restart.
const EXIT_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Debug, Args)]
pub(crate) struct DaemonArgs {
    #[command(subcommand)]
    verb: DaemonVerb,
}

#[derive(Debug, Subcommand)]
enum DaemonVerb {
    /// Start the daemon if it is not running; most commands do that automatically
    Start(ListenArgs),
    /// Stop all sessions and the daemon
    Stop(stop::DaemonStopArgs),
    /// Replace the running daemon with this program; sessions keep running
    ///
    /// The new daemon uses the current settings of kennel.toml and the environment.
    Restart(ListenArgs),
    /// Show whether the daemon is running; exits with 1 if not
    Status(status::DaemonStatusArgs),
    /// Show the daemon's log
    Logs(logs::DaemonLogsArgs),
    /// Print a systemd user unit for the daemon
    ///
    /// As a unit, the daemon outlives the login session that started it and has its own cgroup, in
    /// which it can create pens.
    Unit,
    /// Run in the foreground, for a process manager
    Run(ListenArgs),
}

pub(crate) fn daemon(home: &HomeDir, args: &DaemonArgs) -> Result<u8, CommandError> {
    match &args.verb {
        DaemonVerb::Start(args) => start(home, args),
        DaemonVerb::Stop(args) => stop::stop(home, args),
        DaemonVerb::Restart(args) => restart(home, args),
        DaemonVerb::Status(args) => status::status(home, args),
        DaemonVerb::Logs(args) => logs::logs(home, args),
        DaemonVerb::Unit => unit::unit(home),
        DaemonVerb::Run(args) => run(&args.apply(home)?),
    }
}

fn start(home: &HomeDir, args: &ListenArgs) -> Result<u8, CommandError> {
    let home = &args.apply(home)?;
    let must = match DaemonClient::connect(home, StartDaemon::Never) {
        Ok(_) => ListenRequirement::IfAsked,
        Err(_) => ListenRequirement::IfSet,
    };
    if must == ListenRequirement::IfSet {
        hand_over(home)?;
    }
    let daemon = DaemonClient::connect(home, StartDaemon::IfNeeded)?;
    args.open_listener(home, &daemon, must)?;
    if must == ListenRequirement::IfAsked && args.listen.is_some() {
        // The next daemon gets the same address.
        hand_over(home)?;
    }
    print(&running(&daemon.view()?))?;
    Ok(0)
}

fn running(view: &DaemonView) -> String {
    let yard = view.yard_pid.map_or(String::new(), |pid| format!(", yard pid {pid}"));
    let open = view.listen.as_ref().filter(|listen| listen.state == ListenState::Open);
    let api = open.map_or(String::new(), |listen| format!(", API at {}", listen.url));
    format!(
        "daemon is running: pid {}{yard}, version {}, home {}{api}\n",
        view.pid, view.version, view.home
    )
}

fn restart(home: &HomeDir, args: &ListenArgs) -> Result<u8, CommandError> {
    let home = &args.apply(home)?;
    let Ok(daemon) = DaemonClient::connect(home, StartDaemon::Never) else {
        return start(home, args);
    };
    let before = daemon.view()?;
    let program = own_program()?;
    hand_over(home)?;
    daemon.execute("/v1/daemon/replace", &ReplaceRequest { program: Some(program) })?;
    let mut retry = DaemonRetry::until(Instant::now() + EXIT_TIMEOUT);
    // If the yard dies meanwhile, only this command starts the next daemon.
    let next = DaemonClient::connect(home, StartDaemon::IfNeeded)?;
    loop {
        // For a moment neither of the two daemons may listen.
        match next.view() {
            Ok(now) if (now.pid, &now.started_at) != (before.pid, &before.started_at) => {
                args.open_listener(home, &next, ListenRequirement::IfSet)?;
                print(&running(&next.view()?))?;
                return Ok(0);
            }
            Err(error) if !error.is_gone_or_shutting_down() => return Err(error.into()),
            Ok(_) | Err(_) => {}
        }
        if !retry.another() {
            let text = format!("daemon {} did not exit within {EXIT_TIMEOUT:?}", before.pid);
            return Err(
                CommandError::because(exit_code::INTERNAL, text).hint("see `kennel daemon logs`")
            );
        }
    }
}

fn own_program() -> anyhow::Result<String> {
    let path = std::env::current_exe().context("can't find the path of this program")?;
    let path = path.to_str().ok_or_else(|| anyhow!("{} is not UTF-8", path.display()))?;
    // If the file was replaced meanwhile, the new one is started.
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    std::fs::metadata(path).with_context(|| path.to_owned())?;
    Ok(path.to_owned())
}

/// Replaces this process with the yard. Returns only if that fails.
fn run(home: &HomeDir) -> Result<u8, CommandError> {
    may_start(home).map_err(|why| CommandError::because(exit_code::SETUP, why))?;
    hand_over(home)?;
    let mut yard = Command::new("/proc/self/exe");
    yard.arg0(roles::YARD).arg(&home.folder).current_dir("/");
    let error = yard.env_clear().envs(environment(std::env::vars_os())).exec();
    Err(CommandError::internal(anyhow!(error).context("can't start the yard")))
}
