//! `kennel run`: a new session in the foreground or in the background.
//!
//! ```text
//! kennel run ──HTTP── daemon ──► yard ──► keeper ──► agent
//!     │                                     │
//!     └────── owner of the session ─────────┘
//! ```
//! In the foreground, the session is tied to this process: if it is killed, the keeper sees its
//! socket close and ends the process tree. The agent's output is read from its journal.

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

use kennel_types::{Exit, PenKind};

use crate::command_prelude::*;
use crate::foreground::{DEFAULT_DETACH_KEYS, DetachKeys, Signals};
use crate::quantity::{Lease, parse_lease, parse_new_name, parse_output_limit};
use crate::session_outcome::{self, SessionOutcome};
pub(crate) use chat::{ChatArgs, chat};
use create::LaunchResult;
pub(crate) use limit_args::LimitArgs;
use ready::ReadyArgs;
pub(crate) use resume::{ResumeArgs, resume};
use retry_args::RetryArgs;
pub(crate) use worktree::WorktreeArgs;

#[derive(Debug, Args)]
#[command(after_help = exit_code::HELP)]
pub(crate) struct RunArgs {
    /// Run in the background and print the session id
    #[arg(short, long)]
    pub(crate) detach: bool,
    /// Allocate a terminal, even if this command has none
    #[arg(short, long, overrides_with = "no_tty")]
    pub(crate) tty: bool,
    /// Don't allocate a terminal, even if this command has one
    #[arg(short = 'T', long)]
    pub(crate) no_tty: bool,
    /// Keep standard input open for `kennel send` and `kennel attach`
    #[arg(short = 'i', long)]
    pub(crate) stdin: bool,
    /// Key sequence that detaches from a session with a terminal, or none
    #[arg(long, value_name = "KEYS", default_value = DEFAULT_DETACH_KEYS, value_parser = DetachKeys::parse)]
    pub(crate) detach_keys: DetachKeys,
    /// Time between TERM and KILL when the session is stopped (500ms, 10s, 2m)
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_time, allow_hyphen_values = true)]
    pub(crate) grace: Duration,
    /// Time that processes left behind by the command may keep running after
    /// its exit, before they get TERM and, a second later, KILL
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = parse_time, allow_hyphen_values = true)]
    pub(crate) linger: Duration,
    /// How long the session keeps running if the daemon is gone; off for no
    /// limit
    #[arg(long, value_name = "TIME|off", default_value = "15m", value_parser = parse_lease, allow_hyphen_values = true)]
    pub(crate) lease: Lease,
    /// How much output is kept on disk, at least 128K; the oldest is dropped
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = parse_output_limit, allow_hyphen_values = true)]
    pub(crate) output_limit: u64,
    /// Keep running when the session that started this one has ended
    #[arg(long)]
    pub(crate) stay: bool,
    /// Kind of pen that contains the processes; `kennel doctor` tests each
    #[arg(long, value_enum, default_value_t = PenChoice::Auto)]
    pub(crate) pen: PenChoice,
    /// Profile of the configuration to use
    /// [default: $KENNEL_PROFILE, or the one that the file selects]
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Name of the session, available to it as $KENNEL_SESSION_NAME
    #[arg(long, value_name = "NAME", value_parser = parse_new_name)]
    pub(crate) name: Option<String>,
    /// Working folder [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Set an environment variable; NAME alone requires that it is already set
    #[arg(short, long, value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<OsString>,
    /// Read environment variables from a file of NAME=VALUE lines; values are
    /// literal, quotes included
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
    /// Command to run, with its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

impl RunArgs {
    /// Refuses a command line that is probably a mistake.
    pub(crate) fn check_words(&self, words: &[OsString]) -> Result<(), CommandError> {
        self.worktree.check_words(words, &self.command)
    }
}

/// The kind of pen to create.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PenChoice {
    /// A cgroup if available, otherwise the process subtree
    Auto,
    /// A cgroup, or fail
    Cgroup,
    /// Only the process subtree
    Subtree,
    /// A pid namespace; without privileges also a user namespace, in which set-uid programs have no
    /// effect
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

/// Runs the command and returns the exit code.
pub(crate) fn run(home: &HomeDir, args: &RunArgs) -> Result<u8, CommandError> {
    ready::check(args.ready.wait_ready, args.detach)?;
    ready::check_sign(args.ready.wait_ready, &args.ready.ready)?;
    let launch = create::PendingLaunch::new(home, args).map_err(CommandError::setup)?;
    let daemon = DaemonClient::connect(home, StartDaemon::IfNeeded)?;
    // From here on, signals are queued until they are read.
    let signals = Signals::listen().map_err(CommandError::internal)?;
    let created = create::create(&daemon, home, launch, &signals)?;
    let mode = RunMode {
        detach: args.detach,
        wait_ready: args.ready.wait_ready,
        detach_keys: &args.detach_keys,
    };
    see_through(&daemon, home, mode, created, &signals)
}

/// How the session is followed.
#[derive(Debug, Clone, Copy)]
struct RunMode<'a> {
    /// Run it in the background.
    detach: bool,
    /// Return only when it is ready.
    wait_ready: bool,
    detach_keys: &'a DetachKeys,
}

/// Handles the daemon's response: prints the id, or follows the session.
fn see_through(
    daemon: &DaemonClient,
    home: &HomeDir,
    mode: RunMode<'_>,
    created: LaunchResult,
    signals: &Signals,
) -> Result<u8, CommandError> {
    let (session, ours) = match created {
        LaunchResult::Session { session, ours } => (session, ours),
        LaunchResult::Stopped { signal, session: None } => {
            return Ok(exit_code::of_signal(signal));
        }
        LaunchResult::Stopped { signal, session: Some(session) } => {
            return SessionOutcome::of(&session).stopped_by(signal).exit_code();
        }
    };
    if let Some(failure) = session_outcome::launch_failure(&session) {
        return Err(failure);
    }
    if let Some(failure) = ready::failure(&session).filter(|_| mode.wait_ready) {
        return Err(failure);
    }
    worktree::print_location(&session.spec);
    if ours {
        // The session runs, but not entirely as requested.
        session.trouble.iter().for_each(|trouble| print_message(&sanitize(trouble)));
    }
    if mode.detach {
        // A stop may have been faster.
        if session.exit == Some(Exit::NeverRan) {
            return SessionOutcome::NeverRan.exit_code();
        }
        if !ours {
            print_message(&format!("session {} already exists", session.id));
        }
        print(&format!("{}\n", session.id))?;
        return Ok(0);
    }
    if ours {
        follow::follow(daemon, home, mode.detach_keys, &session, signals)
    } else {
        follow::await_end(daemon, &session, signals)
    }
}
