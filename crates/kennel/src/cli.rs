//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgMatches, Command, FromArgMatches, Parser};

use crate::ask::{self, AnswerArgs, AskArgs};
use crate::command_prelude::*;
use crate::config::{self as configuration, Config, ConfigError, ProfileChoice};
use crate::doctor::{self, DoctorArgs};
use crate::plan;
use crate::run::{self, ChatArgs, RunArgs};
use crate::verbs::{
    adopt, attach, completions, config, daemon, dashboard, events, forget, inspect, logs, member,
    prune, ps, report, rescue, rm, send, signal, stop, strays, token, unknown_verb, wait,
    worktrees,
};

/// Runs coding agents and owns every process they start: no strays.
#[derive(Debug, Parser)]
#[command(name = "kennel", version, max_term_width = 80)]
#[command(after_help = "\
Examples:
  kennel run -- claude                                  Run in this terminal
  kennel run -d --name fix -- codex exec 'fix the bug'  Run in the background
  kennel attach fix                                     Attach to its terminal
  kennel ps                                             List sessions

SESSION is a name, an id, or a unique prefix of an id.
The daemon starts automatically on first use.")]
pub(crate) struct Cli {
    /// Kennel's state directory
    /// [default: $KENNEL_HOME, $XDG_STATE_HOME/kennel or ~/.local/state/kennel]
    #[arg(long, value_name = "DIR", global = true, display_order = 900)]
    home: Option<PathBuf>,
    /// Configuration file with defaults for flags and the daemon's settings
    /// [default: $KENNEL_CONFIG or kennel/kennel.toml in $XDG_CONFIG_HOME or
    /// ~/.config]
    #[arg(id = "config", long = "config", value_name = "FILE", global = true, display_order = 901)]
    config_file: Option<PathBuf>,
    #[arg(skip)]
    config: Config,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Run a command in a new session
    ///
    /// In the foreground, the command uses this command's standard streams. If they are a terminal,
    /// the command gets a terminal of its own and receives Ctrl-C as usual. Pressing Ctrl-C three
    /// times within two seconds stops the whole process tree; once more kills it. INT, TERM, HUP
    /// and QUIT sent to Kennel itself also stop the tree: every process gets TERM, and KILL after
    /// the grace period; another INT kills at once. When this command returns, no process of the
    /// session is left. If one could not be ended, it is named and the exit code is 205.
    ///
    /// With -d, or after the detach keys, the session runs in the background.
    Run(Box<RunArgs>),
    /// Send a prompt to an agent and print its answer
    ///
    /// The prompt goes to a member, which continues its last conversation, or to an agent. On a
    /// terminal, the agent's activity is shown. The prompt is passed on standard input and is not
    /// stored.
    ///
    /// The verdict is based on everything that the agent reports, not only on its exit code. If the
    /// provider is overloaded, fails or is unreachable, Kennel retries, unless the agent has
    /// already done some work. A retry starts only after all processes of the previous attempt are
    /// gone. Ctrl-C stops the prompt; a second one kills it.
    Ask(Box<AskArgs>),
    /// Start an agent interactively in this terminal
    ///
    /// Starts a member with its last conversation, or an agent, with the agent's own user
    /// interface. It is a session like any other: the detach keys leave it running, `kennel attach`
    /// returns to it, and `kennel stop` ends all its processes. The member is busy in the meantime.
    ///
    /// A chat has no verdict, and does not change which conversation the member continues.
    Chat(Box<ChatArgs>),
    /// Wait for the answer to a detached prompt and print it
    Answer(AnswerArgs),
    /// Manage members: named agents with a folder and a conversation
    ///
    /// A member has an agent, a folder and a conversation that continues from prompt to prompt. It
    /// works on one prompt at a time.
    #[command(visible_alias = "members")]
    Member(member::MemberArgs),
    /// Manage plans: several agents in stages that are cancelled together
    #[command(visible_alias = "plans")]
    Plan(plan::PlanArgs),
    /// Launch an ended session again
    ///
    /// Runs the session's command in its folder with the current environment. The session keeps its
    /// id; the id of its nth launch ends in _n. Concurrent requests start a single launch, and all
    /// of them get it. If the session is still ending, the command waits; if it is running, it is
    /// not launched again.
    Resume(run::ResumeArgs),
    /// Track a process that you started yourself
    ///
    /// For an agent in your own terminal: Kennel lists it, notices when it exits, and accepts its
    /// reports. Limits, `stop --all` and `daemon stop` leave it alone. Only `kennel stop` with its
    /// name or id ends it, and only this process: its child processes are not in a pen. `kennel
    /// forget` stops tracking it.
    ///
    /// PID must be a process of yours outside of any session. Without it, the parent of `kennel
    /// adopt` is adopted: your shell if you type the command there, or the agent if the agent runs
    /// it directly. If the agent runs it through a shell (`sh -c`), the parent is that short-lived
    /// shell: pass $PPID there. Adopting the same process again returns the same session.
    Adopt(adopt::AdoptArgs),
    /// List sessions
    #[command(visible_alias = "ls")]
    Ps(ps::PsArgs),
    /// Show the output of a session
    Logs(logs::LogsArgs),
    /// Attach to a session's terminal
    ///
    /// The detach keys leave the session running. When the session ends, this command exits with
    /// its exit code.
    Attach(attach::AttachArgs),
    /// Wait until sessions have ended and exit with their exit code
    ///
    /// Prints the exit code of each session in the given order, or `unknown`. If a session does not
    /// exist, reports that and waits for the others. As with a shell's `wait`, the exit code is
    /// that of the last session: 206 if that session does not exist.
    Wait(wait::WaitArgs),
    /// Stop sessions and all their processes
    ///
    /// Sends TERM to every process, and KILL after the grace period. In a session with a terminal,
    /// processes that ignore TERM (interactive shells, for example) also get HUP.
    ///
    /// Reports for each session whether it was stopped, was already gone, or is still alive, and
    /// why. Of an adopted session, only the adopted process is ended, and only if you name the
    /// session; --all skips it.
    Stop(stop::StopArgs),
    /// Explain how to kill a session
    #[command(hide = true)]
    Kill(unknown_verb::KillArgs),
    /// Send input to a session
    Send(send::SendArgs),
    /// Send a signal to every process of a session
    ///
    /// In an adopted session, only the adopted process gets it.
    Signal(signal::SignalArgs),
    /// Report the state of an agent, from the agent itself or one of its hooks
    ///
    /// Works only inside a session, which provides $KENNEL_SESSION and $KENNEL_TOKEN (or the file
    /// $KENNEL_TOKEN_FILE). Waits up to 30 s for a daemon that is being restarted. Reports from a
    /// launch that has ended are refused.
    Report(report::ReportArgs),
    /// Show details of a session
    ///
    /// Shows its options, processes, pen, resource usage and history.
    Inspect(inspect::InspectArgs),
    /// Show the event log
    ///
    /// Shows every step of every session, and the client that requested it.
    Events(events::EventsArgs),
    /// Remove ended sessions and their output
    ///
    /// Removing an adopted session stops tracking it; its process keeps running.
    Rm(rm::RmArgs),
    /// Remove all ended sessions
    Prune(prune::PruneArgs),
    /// List worktrees of sessions, or remove kept ones
    ///
    /// `kennel run --worktree` creates one. When the session has ended, the worktree is removed if
    /// nothing of value is in it. Otherwise it is kept until you remove it or launch the session
    /// again.
    Worktrees(worktrees::WorktreesArgs),
    /// Find processes that belong to no live session
    ///
    /// Strays are in a pen of this home or have its cookie (an environment variable), but belong to
    /// no live session. Processes that another daemon (docker, cron, a tmux server) started for a
    /// live session are listed as `outside`: Kennel doesn't own them and never ends them.
    Strays(strays::StraysArgs),
    /// Forget a lost session, or stop tracking an adopted one
    ///
    /// Use this for a session whose end can no longer be observed. Kennel records it as forgotten,
    /// not as ended. An adopted process keeps running.
    Forget(forget::ForgetArgs),
    /// Find and end sessions without the daemon
    ///
    /// Use this if the daemon does not start or the register (the database) is damaged. It needs
    /// only session folders, locks, keepers, pens and cookies (environment variables).
    Rescue(rescue::RescueArgs),
    /// Manage the daemon
    Daemon(daemon::DaemonArgs),
    /// Open the dashboard in a browser
    ///
    /// The dashboard shows sessions with their terminals and output, members, plans, worktrees,
    /// strays and events, and can start and stop sessions.
    ///
    /// The command prints a sign-in link that works once, within ten minutes; it signs the browser
    /// in for a week. If the daemon does not listen on TCP yet, it starts to listen on a loopback
    /// address.
    Dashboard(dashboard::DashboardArgs),
    /// Manage tokens for the API over TCP
    ///
    /// Changes take effect immediately.
    #[command(visible_alias = "tokens")]
    Token(token::TokenArgs),
    /// Show and check the configuration
    ///
    /// A flag overrides an environment variable (KENNEL_RUN_GRACE for `run --grace`), which
    /// overrides the profile, which overrides the rest of the file, which overrides the built-in
    /// default. To turn off a switch that the configuration turns on, use its --no- form, for
    /// example --no-detach.
    Config(config::ConfigArgs),
    /// Check what this machine supports
    ///
    /// Tests each kind of pen. Lists what the default pen can't guarantee on this machine, and how
    /// to improve that. Exits with 1 if no pen works reliably.
    Doctor(DoctorArgs),
    /// Print a shell completion script
    Completions(completions::CompletionsArgs),
}

#[derive(Debug)]
pub(crate) enum CliError {
    /// The command line is invalid, or asks for help.
    Usage(clap::Error),
    /// The configuration is invalid, or the command line is probably a mistake.
    Refused(CommandError),
}

impl From<clap::Error> for CliError {
    fn from(error: clap::Error) -> Self {
        Self::Usage(error)
    }
}

impl Verb {
    /// Returns the section with defaults for the verb's flags.
    fn section(&self) -> Option<(&'static str, ProfileChoice<'_>)> {
        match self {
            Self::Run(args) => Some(("run", ProfileChoice::Selected(args.profile.as_deref()))),
            Self::Stop(_) => Some(("stop", ProfileChoice::None)),
            Self::Attach(_) => Some(("attach", ProfileChoice::None)),
            Self::Prune(_) => Some(("prune", ProfileChoice::None)),
            _ => None,
        }
    }

    /// Whether the verb only warns about an invalid configuration: a mistake in a file must not
    /// prevent the end of a session. The effect of the other verbs can't be undone.
    fn tolerates_invalid_config(&self) -> bool {
        matches!(self, Self::Stop(_) | Self::Attach(_))
    }
}

impl Cli {
    /// Parses the command line, with defaults from the configuration.
    pub(crate) fn parse_with_config(words: Vec<OsString>) -> Result<Self, CliError> {
        let mut command = configuration::command();
        let given = match command.try_get_matches_from_mut(&words) {
            Ok(given) => given,
            Err(error) => {
                let explained = unknown_verb::explain(&command, &words, &error);
                return Err(explained.map_or(CliError::Usage(error), CliError::Refused));
            }
        };
        let mut cli = Self::from_arg_matches(&given)?;
        cli.config = Config::new(cli.config_file.take());
        cli.check(&words).map_err(CliError::Refused)?;
        match cli.defaults(&command, &given).map_err(CliError::Refused)? {
            Some((section, defaults)) => {
                let command = configuration::with_defaults(section, defaults);
                let read = Self::from_arg_matches(&command.try_get_matches_from(words)?)?;
                Ok(Self { config: cli.config, ..read })
            }
            None => Ok(cli),
        }
    }

    /// Checks what the parser can't.
    fn check(&self, words: &[OsString]) -> Result<(), CommandError> {
        if let Verb::Run(args) = &self.verb {
            args.worktree.check_words(words, &args.command)?;
        }
        // A file named by --config must exist, even if the verb doesn't use it. `kennel config`
        // reports that itself.
        if self.config.named_by_flag().is_some() && !matches!(self.verb, Verb::Config(_)) {
            self.config.settings(ProfileChoice::None)?;
        }
        Ok(())
    }

    /// Returns the section and its defaults that differ from the built-in ones.
    fn defaults(
        &self,
        command: &Command,
        given: &ArgMatches,
    ) -> Result<Option<(&'static str, Vec<configuration::Default>)>, CommandError> {
        let Some((section, profile)) = self.verb.section() else { return Ok(None) };
        let settings = match self.config.settings(profile) {
            Ok(settings) => settings,
            Err(error)
                if self.verb.tolerates_invalid_config()
                    && self.config.named_by_flag().is_none() =>
            {
                print_message(&ignored(&error));
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let Some(given) = given.subcommand_matches(section) else { return Ok(None) };
        let defaults = configuration::defaults(command, &settings, section, given);
        Ok((!defaults.is_empty()).then_some((section, defaults)))
    }

    pub(crate) fn perform(self) -> Result<u8, CommandError> {
        let open =
            || HomeDir::open(self.home.as_deref(), &self.config).map_err(CommandError::setup);
        let daemon = || DaemonClient::connect(&open()?, StartDaemon::IfNeeded);
        match self.verb {
            Verb::Run(args) => run::run(&open()?, &args),
            Verb::Ask(args) => ask::ask(&open()?, &args),
            Verb::Chat(args) => run::chat(&open()?, &args),
            Verb::Answer(args) => ask::answer(&daemon()?, &args),
            Verb::Member(args) => member::member(&daemon()?, &args),
            Verb::Plan(args) => plan::plan(&open()?, &args),
            Verb::Resume(args) => run::resume(&open()?, &args),
            Verb::Adopt(args) => adopt::adopt(&open()?, args),
            Verb::Ps(args) => ps::ps(&daemon()?, &args),
            Verb::Logs(args) => logs::logs(&daemon()?, &args),
            Verb::Attach(args) => attach::attach(&daemon()?, &args),
            Verb::Wait(args) => wait::wait(&daemon()?, &args),
            Verb::Stop(args) => stop::stop(&open()?, &args),
            Verb::Kill(args) => unknown_verb::kill(&args),
            Verb::Send(args) => send::send(&open()?, &args),
            Verb::Signal(args) => signal::signal(&daemon()?, &args),
            Verb::Report(args) => report::report(&open()?, args),
            Verb::Inspect(args) => inspect::inspect(&daemon()?, &args),
            Verb::Events(args) => events::events(&daemon()?, &args),
            Verb::Rm(args) => rm::rm(&daemon()?, &args),
            Verb::Prune(args) => prune::prune(&daemon()?, &args),
            Verb::Worktrees(args) => worktrees::worktrees(&daemon()?, &args),
            Verb::Strays(args) => strays::strays(&daemon()?, &args),
            Verb::Forget(args) => forget::forget(&daemon()?, &args),
            Verb::Rescue(args) => rescue::rescue(&open()?, &args),
            Verb::Daemon(args) => daemon::daemon(&open()?, &args),
            Verb::Dashboard(args) => dashboard::dashboard(&open()?, &args),
            Verb::Token(args) => token::token(&daemon()?, &args),
            Verb::Config(args) => config::config(&self.config, &args),
            Verb::Doctor(args) => {
                doctor::doctor(&self.config, HomeDir::find(self.home.as_deref()).as_ref(), &args)
            }
            Verb::Completions(args) => completions::completions(self.home.as_deref(), &args),
        }
    }
}

pub(crate) fn ignored(error: &ConfigError) -> String {
    format!("ignoring the invalid configuration:\n{error}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_command_line_is_consistent() {
        configuration::command().debug_assert();
    }

    /// Appends the long help of a command and its subcommands.
    fn append_help(command: &mut Command, text: &mut String) {
        text.push_str(&format!("{}\n\n", command.render_long_help()));
        for verb in command.get_subcommands_mut() {
            append_help(verb, text);
        }
    }

    #[test]
    fn help_texts() {
        let mut command = configuration::command();
        command.build();
        insta::assert_snapshot!("help", command.render_help().to_string());
        let verbs = command.get_subcommands_mut().filter(|verb| verb.get_name() != "help");
        for verb in verbs {
            assert!(verb.get_about().is_some(), "{}", verb.get_name());
            let mut text = String::new();
            append_help(verb, &mut text);
            for line in text.lines().chain(verb.render_help().to_string().lines()) {
                assert!(line.chars().count() <= 80, "{}: {line}", verb.get_name());
            }
            insta::assert_snapshot!(format!("help_{}", verb.get_name()), text);
        }
    }

    /// Parses `kennel run WORDS…` with this file.
    fn run_with(file: &str, words: &[&str]) -> RunArgs {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kennel.toml");
        std::fs::write(&path, file).unwrap();
        let first = ["kennel", "--config", path.to_str().unwrap(), "run"];
        let words = first.iter().chain(words).chain(&["--", "agent", "--grace", "1h"]);
        match Cli::parse_with_config(words.map(OsString::from).collect()).unwrap().verb {
            Verb::Run(args) => *args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_flag_overrides_the_file() {
        let file = "run.grace = '5s'\nrun.linger = '7s'\nrun.lease = 'off'";
        let args = run_with(file, &["--linger", "1s"]);
        assert_eq!(args.grace, Duration::from_secs(5));
        assert_eq!(args.linger, Duration::from_secs(1));
        assert_eq!(args.lease.0, None);
        assert_eq!(args.output_limit, 64 << 20, "the built-in default");
        assert_eq!(args.command, ["agent", "--grace", "1h"]);
    }

    #[test]
    fn a_switch_that_the_file_turns_on_can_be_turned_off() {
        let on = "run.detach = true\nrun.stay = true";
        let args = run_with(on, &[]);
        assert!(args.detach && args.stay);
        let args = run_with(on, &["--no-detach"]);
        assert!(!args.detach && args.stay);
        let args = run_with(on, &["--no-stay", "--stay"]);
        assert!(args.detach && args.stay, "the last flag wins");
        let args = run_with("run.detach = false", &["-d"]);
        assert!(args.detach);
        assert!(!run_with("", &["-d", "--no-detach"]).detach);
    }

    #[test]
    fn a_terminal_can_be_requested_refused_or_left_open() {
        let requested = |file, words| {
            let args = run_with(file, words);
            (args.tty, args.no_tty)
        };
        assert_eq!(requested("", &[]), (false, false));
        assert_eq!(requested("run.tty = true", &[]), (true, false));
        assert_eq!(requested("run.tty = false", &[]), (false, true));
        assert_eq!(requested("run.tty = true", &["-T"]), (false, true));
        assert_eq!(requested("run.tty = false", &["-t"]), (true, false));
    }

    #[test]
    fn the_flag_selects_a_profile() {
        let file = "profile = 'a'\n[profiles.a]\ngrace = 1\n[profiles.b]\ngrace = 2\n";
        assert_eq!(run_with(file, &[]).grace, Duration::from_secs(1));
        assert_eq!(run_with(file, &["--profile", "b"]).grace, Duration::from_secs(2));
    }

    fn parse(words: &[&str]) -> Result<Cli, CliError> {
        Cli::parse_with_config(words.iter().map(OsString::from).collect())
    }

    #[test]
    fn a_named_file_must_exist_for_every_verb() {
        for verb in [&["ps"][..], &["stop", "x"], &["inspect", "x"], &["daemon", "status"]] {
            let words = [&["kennel", "--config", "/no/such/file"][..], verb].concat();
            assert!(matches!(parse(&words), Err(CliError::Refused(_))), "{verb:?}");
        }
        assert!(parse(&["kennel", "--config", "/no/such/file", "config", "path"]).is_ok());
    }

    #[test]
    fn refuses_a_branch_without_an_equals_sign() {
        let run = |words: &[&str]| parse(&[&["kennel", "run"][..], words].concat());
        let refused = run(&["--worktree", "feature", "--", "true"]);
        assert!(matches!(refused, Err(CliError::Refused(_))), "{refused:?}");
        for valid in [
            &["--worktree=feature", "--", "true"][..],
            &["--worktree", "--", "feature", "--", "true"],
            &["--worktree", "feature", "true"],
            &["--worktree", "-d", "--", "true"],
            &["agent", "--worktree", "feature", "--", "true"],
        ] {
            assert!(run(valid).is_ok(), "{valid:?}");
        }
    }

    #[test]
    fn errors_of_the_command_line() {
        let mut text = String::new();
        for words in [
            &["run", "--timeout", "-1s", "--", "x"][..],
            &["run", "--lease", "-1", "--", "x"],
            &["run", "--ready-timeout", "-1s", "--", "x"],
            &["run", "--pids", "-3", "--", "x"],
            &["run", "--memory", "-1G", "--", "x"],
            &["run", "--memory", "0", "--", "x"],
            &["run", "--cpu", "-1", "--", "x"],
            &["run", "--output-limit", "-1", "--", "x"],
            &["run", "--detach-keys", "ctrl-1", "--", "x"],
            &["run", "--name", "a/b", "--", "x"],
            &["run", "--pen", "cgruop", "--", "x"],
            &["logs", "-n", "-1", "x"],
            &["logs", "--since", "-1m", "x"],
            &["inspect", "a b"],
            &["adopt", "-5"],
            &["signal", "x", "TERMINATE"],
            &["report", "progress", "101"],
            &["prune", "--older-than", "-1d"],
            &["stop", "-t", "-1s", "x"],
            &["daemon", "start", "--listen", "7380"],
            &["stpo", "x"],
        ] {
            let Err(CliError::Usage(error)) = parse(&[&["kennel"][..], words].concat()) else {
                panic!("{words:?}")
            };
            let error = error.to_string();
            // Negative numbers reach the flag's own parser instead of clap's hint about `--`.
            assert!(!error.contains("-- -"), "{words:?}: {error}");
            text += &format!("$ kennel {}\n{error}\n", words.join(" "));
        }
        insta::assert_snapshot!(text);
    }

    #[test]
    fn install_commands_for_completions_are_on_one_line() {
        let mut command = configuration::command();
        command.build();
        let help = command.find_subcommand_mut("completions").unwrap().render_help().to_string();
        let commands = help.lines().filter(|line| line.trim().starts_with("kennel completions"));
        assert_eq!(commands.filter(|line| line.contains(" > ~/")).count(), 3, "{help}");
    }
}
