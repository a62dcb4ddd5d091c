//! `kennel daemon`: looking after the daemon.

mod listen;
mod logs;
mod status;
mod stop;
mod unit;

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use clap::{Args, Subcommand};
use kennel_types::api::{DaemonView, ListenState, ReplaceRequest};

use self::listen::{ListenArgs, ListenRequirement};
use crate::command_error::CommandError;
use crate::config::hand_over;
use crate::connect::{DaemonClient, StartDaemon, environment, may_start};
use crate::exit_code;
use crate::foreground;
use crate::home::Home;
use crate::print::print;
use crate::roles;

/// How long a daemon may take to make room for the next.
const REPLACE: Duration = Duration::from_secs(30);
/// The pause between looks.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The verbs of `kennel daemon`.
#[derive(Debug, Args)]
pub(crate) struct DaemonArgs {
    #[command(subcommand)]
    verb: DaemonVerb,
}

#[derive(Debug, Subcommand)]
enum DaemonVerb {
    /// Start it, if it does not run; most verbs do that by themselves
    Start(ListenArgs),
    /// End every session, say what became of each, and end the daemon
    Stop(stop::DaemonStopArgs),
    /// Put this program in the place of the one that runs; sessions go on
    ///
    /// The new one has the settings that kennel.toml and the environment have now.
    Restart(ListenArgs),
    /// Say whether it runs; exits with 1 if not
    Status(status::DaemonStatusArgs),
    /// Show its log
    Logs(logs::DaemonLogsArgs),
    /// Print a systemd user unit for it
    ///
    /// As a unit of its own it outlives the login that started it, and has a cgroup of its own to make pens
    /// in.
    Unit,
    /// Serve in the foreground, for a process manager
    Run(ListenArgs),
}

/// Does it.
pub(crate) fn daemon(home: &Home, args: &DaemonArgs) -> Result<u8, CommandError> {
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

fn start(home: &Home, args: &ListenArgs) -> Result<u8, CommandError> {
    let home = &args.apply(home)?;
    let must = match DaemonClient::connect(home, StartDaemon::Never) {
        Ok(_) => ListenRequirement::IfAsked,
        Err(_) => ListenRequirement::IfSet,
    };
    if must == ListenRequirement::IfSet {
        hand_over(home)?;
    }
    let daemon = DaemonClient::connect(home, StartDaemon::IfNeeded)?;
    args.insist(home, &daemon, must)?;
    if must == ListenRequirement::IfAsked && args.is_asked() {
        // The next one has it there too.
        hand_over(home)?;
    }
    print(&running(&daemon.view()?))?;
    Ok(0)
}

fn running(view: &DaemonView) -> String {
    let yard = view.yard_pid.map_or(String::new(), |pid| format!(", below yard {pid}"));
    let open = view.listen.as_ref().filter(|listen| listen.state == ListenState::Open);
    let api = open.map_or(String::new(), |listen| format!(", API at {}", listen.url));
    format!(
        "the daemon runs: pid {}{yard}, version {}, home {}{api}\n",
        view.pid, view.version, view.home
    )
}

/// Puts this very program in its place.
fn restart(home: &Home, args: &ListenArgs) -> Result<u8, CommandError> {
    let home = &args.apply(home)?;
    let Ok(daemon) = DaemonClient::connect(home, StartDaemon::Never) else {
        return start(home, args);
    };
    let before = daemon.view()?;
    let program = own_program().map_err(CommandError::internal)?;
    hand_over(home)?;
    daemon.tell("/v1/daemon/replace", &ReplaceRequest { program: Some(program) })?;
    let deadline = Instant::now() + REPLACE;
    // If the yard dies meanwhile, nobody but us starts the next one.
    let next = DaemonClient::connect(home, StartDaemon::IfNeeded)?;
    loop {
        // Between the two nobody may listen for a moment.
        match next.view() {
            Ok(now) if (now.pid, &now.started_at) != (before.pid, &before.started_at) => {
                args.insist(home, &next, ListenRequirement::IfSet)?;
                print(&running(&next.view()?))?;
                return Ok(0);
            }
            Ok(_) => {}
            Err(error) if error.is_gone_or_leaving() => {}
            Err(error) => return Err(error.into()),
        }
        if Instant::now() >= deadline {
            let text =
                format!("daemon {} has not made room within {} s", before.pid, REPLACE.as_secs());
            return Err(CommandError::because(exit_code::INTERNAL, text)
                .hint("`kennel daemon logs` may say why"));
        }
        foreground::poll(&mut [], Some(Instant::now() + LOOK_AGAIN))
            .map_err(CommandError::internal)?;
    }
}

/// The file that this program is in.
fn own_program() -> anyhow::Result<String> {
    let path = std::env::current_exe().context("can't find our own program")?;
    let path = path.to_str().ok_or_else(|| anyhow!("{} is not UTF-8", path.display()))?;
    // If a newer file was put in our place meanwhile, that is the one to start.
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    match std::fs::metadata(path) {
        Ok(_) => Ok(path.to_owned()),
        Err(error) => Err(anyhow!(error).context(path.to_owned())),
    }
}

/// Becomes the yard. Returns only if that fails.
fn run(home: &Home) -> Result<u8, CommandError> {
    may_start(home).map_err(|why| CommandError::because(exit_code::SETUP, why))?;
    hand_over(home)?;
    let mut yard = Command::new("/proc/self/exe");
    yard.arg0(roles::YARD).arg(&home.folder).current_dir("/");
    let error = yard.env_clear().envs(environment(std::env::vars_os())).exec();
    Err(CommandError::internal(anyhow!(error).context("can't become the yard")))
}
