//! `kennel run`: a new session, in the foreground or left to itself.
//!
//! ```text
//! kennel run ──HTTP── daemon ──► yard ──► keeper ──► agent
//!     │                                     │
//!     └────── owner of the session ─────────┘
//! ```
//! In the foreground the session is tied to this process: the keeper sees our socket close if we are killed,
//! and ends the tree. What the agent prints is read from its journal.

mod chat;
pub(crate) mod client_env;
mod create;
mod follow;
mod limit_args;
mod ready;
mod resume;
mod retry_args;
mod worktree;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use kennel_types::{Exit, PenKind};

use crate::command_error::{CommandError, say};
use crate::connect::{DaemonClient, StartDaemon};
use crate::exit_code;
use crate::foreground::{DEFAULT_DETACH_KEYS, DetachKeys, Signals};
use crate::home::Home;
use crate::print::{print, sanitize};
use crate::quantity::{Lease, parse_lease, parse_new_name, parse_output_limit, parse_time};
use crate::session_outcome::{self, SessionOutcome};
pub(crate) use chat::{ChatArgs, chat};
use create::LaunchResult;
pub(crate) use limit_args::LimitArgs;
use ready::ReadyArgs;
pub(crate) use resume::{ResumeArgs, resume};
use retry_args::RetryArgs;
pub(crate) use worktree::WorktreeArgs;

/// The flags of `kennel run`.
#[derive(Debug, Args)]
#[command(after_help = exit_code::HELP)]
pub(crate) struct RunArgs {
    /// Leave it running by itself, and print its id
    #[arg(short, long)]
    pub(crate) detach: bool,
    /// Give it a terminal, even if we have none
    #[arg(short, long, overrides_with = "no_tty")]
    pub(crate) tty: bool,
    /// Give it no terminal, even if we have one
    #[arg(short = 'T', long)]
    pub(crate) no_tty: bool,
    /// Keep its standard input open, for `kennel send` and `attach`
    #[arg(short = 'i', long)]
    pub(crate) stdin: bool,
    /// The keys that leave a foreground run going by itself; none: no keys.
    /// Without a terminal of its own there are none
    #[arg(long, value_name = "KEYS", default_value = DEFAULT_DETACH_KEYS, value_parser = DetachKeys::parse)]
    pub(crate) detach_keys: DetachKeys,
    /// How long a stop waits between TERM and KILL (500ms, 10s, 2m)
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_time, allow_hyphen_values = true)]
    pub(crate) grace: Duration,
    /// How long what the command leaves behind may go on after its exit,
    /// before it gets a TERM and, a second later, a KILL
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = parse_time, allow_hyphen_values = true)]
    pub(crate) linger: Duration,
    /// How long it goes on if Kennel's daemon is gone and does not come back;
    /// off: for ever
    #[arg(long, value_name = "TIME|off", default_value = "15m", value_parser = parse_lease, allow_hyphen_values = true)]
    pub(crate) lease: Lease,
    /// How much of its output is kept on disk, 128K or more; the oldest is
    /// dropped
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = parse_output_limit, allow_hyphen_values = true)]
    pub(crate) output_limit: u64,
    /// If an agent starts this session: go on when the agent's own has ended
    #[arg(long)]
    pub(crate) stay: bool,
    /// What holds the processes; `kennel doctor` tries each
    #[arg(long, value_enum, default_value_t = PenChoice::Auto)]
    pub(crate) pen: PenChoice,
    /// Which profile of the configuration gives the defaults
    /// [default: $KENNEL_PROFILE, or what the file says]
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// A name for the session, told to it as $KENNEL_SESSION_NAME
    #[arg(long, value_name = "NAME", value_parser = parse_new_name)]
    pub(crate) name: Option<String>,
    /// The folder to start in [default: this one]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Set a variable, or (NAME alone) insist that it is set here
    #[arg(short, long, value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<OsString>,
    /// Read variables from a file of NAME=VALUE lines; values are taken
    /// literally, quotes included
    #[arg(long, value_name = "FILE")]
    pub(crate) env_file: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) worktree: WorktreeArgs,
    #[command(flatten)]
    pub(crate) again: RetryArgs,
    #[command(flatten)]
    pub(crate) ready: ReadyArgs,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

impl RunArgs {
    /// Refuses what is written in a way that means something else.
    pub(crate) fn check_words(&self, words: &[OsString]) -> Result<(), CommandError> {
        self.worktree.check_words(words, &self.command)
    }
}

/// Which pen to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PenChoice {
    /// A cgroup where one can be had, else the process subtree
    Auto,
    /// A cgroup, or fail
    Cgroup,
    /// Only the process subtree
    Subtree,
    /// A pid namespace; without privileges also a user namespace, in which set-uid programs have no
    /// power
    Pidns,
}

impl From<PenChoice> for PenKind {
    fn from(choice: PenChoice) -> Self {
        match choice {
            PenChoice::Auto => Self::Auto,
            PenChoice::Cgroup => Self::Cgroup,
            PenChoice::Subtree => Self::Subtree,
            PenChoice::Pidns => Self::Pidns,
        }
    }
}

/// Runs the command; gives the exit code.
pub(crate) fn run(home: &Home, args: &RunArgs) -> Result<u8, CommandError> {
    ready::check(args.ready.wait_ready, args.detach)?;
    ready::check_sign(args.ready.wait_ready, &args.ready.ready)?;
    let plan = create::PendingLaunch::new(home, args).map_err(CommandError::setup)?;
    let daemon = DaemonClient::connect(home, StartDaemon::IfNeeded)?;
    // From here on a signal waits to be read, so that none falls into a gap.
    let signals = Signals::listen().map_err(CommandError::internal)?;
    let created = create::create(&daemon, home, plan, &signals)?;
    let front = Front {
        detach: args.detach,
        wait_ready: args.ready.wait_ready,
        detach_keys: &args.detach_keys,
    };
    see_through(&daemon, home, front, created, &signals)
}

/// How we stand before a session.
#[derive(Debug, Clone, Copy)]
struct Front<'a> {
    /// We leave it to itself.
    detach: bool,
    /// We do so only when it is up.
    wait_ready: bool,
    detach_keys: &'a DetachKeys,
}

/// What follows the answer.
fn see_through(
    daemon: &DaemonClient,
    home: &Home,
    front: Front<'_>,
    created: LaunchResult,
    signals: &Signals,
) -> Result<u8, CommandError> {
    let (session, ours) = match created {
        LaunchResult::Session { session, ours } => (session, ours),
        LaunchResult::Stopped { signal, session: None } => {
            return Ok(session_outcome::by_signal(signal));
        }
        LaunchResult::Stopped { signal, session: Some(session) } => {
            return SessionOutcome::of(&session).stopped_by(signal).exit_code();
        }
    };
    if let Some(failure) = session_outcome::launch_failure(&session) {
        return Err(failure);
    }
    if let Some(failure) = ready::failure(&session).filter(|_| front.wait_ready) {
        return Err(failure);
    }
    worktree::tell(&session.spec);
    if ours {
        // It runs all the same, but not as it was asked for.
        session.trouble.iter().for_each(|trouble| say(&sanitize(trouble)));
    }
    if front.detach {
        // A stop may have been quicker.
        if session.exit == Some(Exit::NeverRan) {
            return SessionOutcome::NeverRan.exit_code();
        }
        if !ours {
            say(&format!("session {} is there already", session.id));
        }
        print(&format!("{}\n", session.id))?;
        return Ok(0);
    }
    if ours {
        follow::conduct(daemon, home, front.detach_keys, &session, signals)
    } else {
        follow::await_others(daemon, &session, signals)
    }
}
