//! The arguments of `kennel run`, some of which other verbs share.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use kennel_types::{PenKind, Readiness, Restart, SessionSpec, WorktreeSpec, check_key};

use crate::command_prelude::*;
use crate::foreground::{DEFAULT_DETACH_KEYS, DetachKeys};
use crate::quantity::{
    Lease, parse_cores, parse_lease, parse_memory, parse_new_name, parse_output_limit, parse_pids,
};

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
    #[arg(long, default_value = "auto", value_parser = choice(PENS))]
    pub(crate) pen: PenKind,
    /// Configuration profile to use
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
    /// Command to run, with its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) worktree: WorktreeArgs,
    #[command(flatten)]
    pub(crate) again: RetryArgs,
    #[command(flatten)]
    pub(crate) ready: ReadyArgs,
}

#[derive(Debug, Args)]
#[command(after_help = exit_code::HELP)]
pub(crate) struct ResumeArgs {
    /// Run in the background and print the id of the launch
    #[arg(short, long)]
    pub(super) detach: bool,
    /// With -d: return when the check of its first run succeeds; if it doesn't
    /// become ready, return an error when all its processes are gone
    #[arg(long)]
    pub(super) wait_ready: bool,
    /// Wait instead of failing if too many sessions are running
    #[arg(long)]
    pub(super) queue: bool,
    /// Key sequence that detaches from the session, or none
    #[arg(long, value_name = "KEYS", default_value = DEFAULT_DETACH_KEYS, value_parser = DetachKeys::parse)]
    pub(super) detach_keys: DetachKeys,
    /// Name, id, or unique prefix of an id
    #[arg(value_name = "SESSION", value_parser = parse_session)]
    pub(super) session: String,
}

/// Parses one of these names, and shows the help of each.
pub(crate) fn choice<T: Copy + Send + Sync + 'static>(
    known: &'static [(&'static str, T, &'static str)],
) -> impl TypedValueParser<Value = T> {
    let values = known.iter().map(|(name, _, help)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(values).try_map(move |text| {
        let found = known.iter().find(|(name, ..)| *name == text);
        found.map(|(_, value, _)| *value).ok_or("unknown value")
    })
}

pub(crate) const PENS: &[(&str, PenKind, &str)] = &[
    ("auto", PenKind::Auto, "A cgroup if available, otherwise the process subtree"),
    ("cgroup", PenKind::Cgroup, "A cgroup, or fail"),
    ("subtree", PenKind::Subtree, "Only the process subtree"),
    (
        "pidns",
        PenKind::Pidns,
        "A pid namespace; without privileges also a user namespace, in which set-uid programs have no effect",
    ),
];

#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// Stop it after this run time, not counting system sleep; 0 for no limit
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse_time, allow_hyphen_values = true)]
    pub(crate) timeout: Duration,
    /// Stop it after this time without any activity (output, input, reports,
    /// CPU usage or new processes); 0 for no limit
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse_time, allow_hyphen_values = true)]
    pub(crate) idle: Duration,
    /// Stop it after this time without output; 0 for no limit
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse_time, allow_hyphen_values = true)]
    pub(crate) silence: Duration,
    /// Memory limit for all its processes together
    #[arg(long, value_name = "SIZE", value_parser = parse_memory, allow_hyphen_values = true)]
    pub(crate) memory: Option<u64>,
    /// Limit on the number of processes and threads
    #[arg(long, value_name = "COUNT", value_parser = parse_pids, allow_hyphen_values = true)]
    pub(crate) pids: Option<u64>,
    /// CPU limit in cores (0.5, 2)
    #[arg(long, value_name = "CORES", value_parser = parse_cores, allow_hyphen_values = true)]
    pub(crate) cpu: Option<u32>,
    /// Run it even if --memory, --pids or --cpu can't be enforced, with a
    /// warning (`kennel doctor` shows what is supported)
    #[arg(long)]
    pub(crate) best_effort: bool,
}

impl LimitArgs {
    pub(crate) fn fill(&self, spec: &mut SessionSpec) {
        spec.timeout = Some(self.timeout);
        spec.idle = Some(self.idle);
        spec.silence = Some(self.silence);
        spec.memory = self.memory;
        spec.pids = self.pids;
        spec.cpu = self.cpu;
        spec.best_effort = self.best_effort;
        *spec = std::mem::take(spec).with_zero_as_unlimited();
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Worktree")]
pub(crate) struct WorktreeArgs {
    /// Run it in a new git worktree, on BRANCH or on a new branch kennel/ID.
    /// The worktree is removed after the session unless something of value is in
    /// it: see `kennel worktrees`
    #[arg(long, value_name = "BRANCH", num_args = 0..=1, require_equals = true)]
    #[expect(clippy::option_option, reason = "clap's type for a flag with an optional value")]
    pub(crate) worktree: Option<Option<String>>,
}

impl WorktreeArgs {
    pub(crate) fn fill(&self, spec: &mut SessionSpec) {
        spec.worktree = self.worktree.clone().map(WorktreeSpec::requested);
    }

    /// Refuses `--worktree BRANCH -- COMMAND`, which would run BRANCH as a program.
    pub(crate) fn check_words(
        &self,
        words: &[OsString],
        command: &[OsString],
    ) -> Result<(), CommandError> {
        let bare = matches!(self.worktree, Some(None));
        let before = words.iter().take_while(|word| *word != "--").collect::<Vec<_>>();
        let ended = before.len() < words.len();
        match (&before[..], command) {
            ([.., flag, branch], [program, ..])
                if bare && ended && *flag == "--worktree" && *branch == program =>
            {
                let branch = branch.to_string_lossy();
                let text = format!("{branch:?} after --worktree would be run as the program");
                Err(CommandError::usage(text)
                    .hint(format!("to use it as the branch, write --worktree={branch}")))
            }
            _ => Ok(()),
        }
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Queueing and restarts")]
pub(crate) struct RetryArgs {
    /// Idempotency key: a request with the same key returns the same session,
    /// until a day after it has ended (daemon.key_retention)
    #[arg(long, value_name = "KEY", value_parser = parse_key)]
    pub(crate) key: Option<String>,
    /// Wait instead of failing if too many sessions are running
    #[arg(long)]
    pub(crate) queue: bool,
    /// With -d: launch the command again when it fails, at most N times
    /// (on-failure:N), after a delay that grows from 1 s to 5 min
    #[arg(long, value_name = "never|on-failure[:N]", default_value = "never")]
    pub(crate) restart: Restart,
    /// Also restart if the exit status is unknown (the command may have
    /// succeeded)
    #[arg(long)]
    pub(crate) restart_unknown: bool,
}

impl RetryArgs {
    pub(crate) fn fill(&self, spec: &mut SessionSpec) -> Result<(), CommandError> {
        if spec.tethered && self.restart != Restart::Never {
            return Err(CommandError::usage(format!(
                "--restart {} needs -d: a session in the foreground ends with this command",
                self.restart
            )));
        }
        if self.restart_unknown && self.restart == Restart::Never {
            return Err(CommandError::usage("--restart-unknown needs --restart on-failure"));
        }
        spec.key = self.key.clone();
        spec.restart = self.restart;
        spec.restart_unknown = self.restart_unknown;
        Ok(())
    }
}

pub(crate) fn parse_key(text: &str) -> Result<String, String> {
    check_key(text).map(|()| text.to_owned()).map_err(|error| error.to_string())
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Readiness")]
pub(crate) struct ReadyArgs {
    /// When the session is ready: line:REGEX (in its output), socket:PATH,
    /// tcp:PORT or tcp:HOST:PORT, http://HOST/PATH, report (see `kennel
    /// report`), or none
    #[arg(long, value_name = "CHECK", default_value = "none")]
    pub(crate) ready: Readiness,
    /// Stop it if it is not ready in time, not counting system sleep; 0 for no
    /// limit
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = parse_time, allow_hyphen_values = true)]
    pub(crate) ready_timeout: Duration,
    /// With -d: return when it is ready; if it fails to become ready, return an
    /// error when all its processes are gone
    #[arg(long)]
    pub(crate) wait_ready: bool,
}

impl ReadyArgs {
    pub(crate) fn fill(&self, spec: &mut SessionSpec) {
        spec.ready = self.ready.clone();
        let asked = self.ready != Readiness::None && !self.ready_timeout.is_zero();
        spec.ready_timeout = asked.then_some(self.ready_timeout);
    }
}
