//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches, Parser, Subcommand};

use crate::ask::{self, AnswerArgs, AskArgs};
use crate::command_error::{CommandError, say};
use crate::config::{self as configuration, Config, ConfigError, ProfileChoice};
use crate::doctor::{self, DoctorArgs};
use crate::home::Home;
use crate::plan;
use crate::run::{self, ChatArgs, RunArgs};
use crate::verbs::{
    adopt, attach, completions, config, daemon, dashboard, events, forget, inspect, kill, logs,
    member, prune, ps, report, rescue, rm, send, signal, stop, strays, token, unknown_verb, wait,
    worktrees,
};

/// Runs coding agents, and owns every process of theirs: no strays.
#[derive(Debug, Parser)]
#[command(name = "kennel", version, max_term_width = 80)]
#[command(after_help = "\
Try:  kennel run -- claude      kennel run -d --name fix -- codex exec 'fix it'
      kennel ps                 kennel attach fix

A SESSION is a name, an id, or the beginning of an id that no other has.
The daemon starts by itself on first use.")]
pub(crate) struct Cli {
    #[command(flatten)]
    home: HomeArgs,
    #[command(flatten)]
    file: FileArgs,
    #[arg(skip)]
    config: Config,
    #[command(subcommand)]
    verb: Verb,
}

/// Where Kennel keeps its records.
#[derive(Debug, Args)]
pub(crate) struct HomeArgs {
    /// The folder with Kennel's records
    /// [default: $KENNEL_HOME, $XDG_STATE_HOME/kennel or ~/.local/state/kennel]
    #[arg(long, value_name = "DIR", global = true, display_order = 900)]
    pub(crate) home: Option<PathBuf>,
}

/// What is taken where the command line says nothing.
#[derive(Debug, Args)]
struct FileArgs {
    /// The file with defaults for flags, and the daemon's settings
    /// [default: $KENNEL_CONFIG or kennel/kennel.toml in $XDG_CONFIG_HOME or
    /// ~/.config]
    #[arg(long, value_name = "FILE", global = true, display_order = 901)]
    config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Run a command, and leave nothing of it behind
    ///
    /// In the foreground its streams are ours. If they are a terminal, it gets a terminal of its own, and
    /// Control-C is a key for it, as it would be without Kennel; the third within two seconds stops the
    /// whole tree, and any after that kills it. INT, TERM, HUP and QUIT to Kennel itself stop the whole tree: TERM to
    /// every process, KILL after the grace; an INT during that kills at once. When this returns, no process of the
    /// command is left, or it is named and the exit code is 205.
    ///
    /// With -d, or after the detach keys, it goes on by itself.
    Run(Box<RunArgs>),
    /// Give a prompt to an agent, and print its answer
    ///
    /// To a member, which goes on with the conversation that it had last, or to an agent. On a terminal it is shown what
    /// the agent does. The prompt goes to it by standard input, and is written down nowhere.
    ///
    /// The verdict is made from all that the agent tells, and not from its exit code alone. If the provider is to blame
    /// (too much to do, failed, not reached) it is tried again, unless the agent did work already; each try begins when
    /// nothing of the one before is left. Control-C stops it wholly; once more kills it.
    Ask(Box<AskArgs>),
    /// Talk to an agent: start it on a terminal, and come before it
    ///
    /// To a member, with the conversation that it had last, or to an agent. It is the agent's own program with its own
    /// screen, in a session as any other: the detach keys leave it going by itself, `kennel attach` comes back to it, and
    /// `kennel stop` leaves nothing of it. A member is busy meanwhile.
    ///
    /// What is said has no verdict, and which conversation it became is not learnt: the member keeps the one that it had.
    Chat(Box<ChatArgs>),
    /// Wait for the answer to a prompt that was left to itself, and print it
    Answer(AnswerArgs),
    /// Add, list, show or remove members: named seats for agents
    ///
    /// A member has an agent, a folder and a conversation that goes on from prompt to prompt. It works on one prompt at
    /// a time.
    #[command(visible_alias = "members")]
    Member(member::MemberArgs),
    /// Run, list, show, cancel or go on with plans: several agents with one cancel
    #[command(visible_alias = "plans")]
    Plan(plan::PlanArgs),
    /// Launch a session that has ended again
    ///
    /// Its command, in its folder, with our environment. It keeps its id; the nth launch has _n behind it. However
    /// many ask at once, there is one launch, and all get it for an answer; one that is about to end is waited for
    /// first, and of one that runs nothing more is launched.
    Resume(run::ResumeArgs),
    /// Follow a process that you started yourself, as a session
    ///
    /// For an agent in your own terminal: it is listed, its end is noticed, and it can report. No limit, no cap, no
    /// `stop --all` and no `daemon stop` ends it; only `kennel stop` with its name or id does, and signals this one
    /// process. What it starts is not held in a pen. `kennel forget` lets go of it.
    ///
    /// PID is a process of yours outside of any session; without it, the parent of `kennel adopt` is meant. That is
    /// your shell if you type it there, and the agent if that runs it directly. If the agent runs it by a shell
    /// (`sh -c`), it is that shell, which may be gone soon: say $PPID there. Asked twice for one process, it is one
    /// session.
    Adopt(adopt::AdoptArgs),
    /// List sessions
    #[command(visible_alias = "ls")]
    Ps(ps::PsArgs),
    /// Show what a session has printed
    Logs(logs::LogsArgs),
    /// Come back to a session: see and type what happens now
    ///
    /// The detach keys leave it going by itself. When it ends, this exits with its own code.
    Attach(attach::AttachArgs),
    /// Wait until sessions have ended; exit with the agent's own code
    ///
    /// Prints the code of each, in the order in which they were named; `unknown` if nobody can tell. One
    /// that is not there is told, and does not keep from waiting for the others. The exit code is that of the
    /// last one named, as with a shell's own `wait`: 206 if that one is not there.
    Wait(wait::WaitArgs),
    /// End sessions, the whole tree of each
    ///
    /// TERM to every process, KILL after the grace. In a terminal, those that ignore TERM get a HUP with it, as an
    /// interactive shell does.
    ///
    /// Says of each whether it was stopped, was gone already, or is still alive, and why. Of a session that was adopted
    /// only the one process is ended, and only if it is named; --all leaves it alone.
    Stop(stop::StopArgs),
    /// What others call `stop --now`
    #[command(hide = true)]
    Kill(kill::KillArgs),
    /// Type something into a session
    Send(send::SendArgs),
    /// Send a signal to every process of a session
    ///
    /// Of one that was adopted: to its one process.
    Signal(signal::SignalArgs),
    /// Tell Kennel how an agent is: for the agent itself, or a hook in it
    ///
    /// Works in a session only, by $KENNEL_SESSION and $KENNEL_TOKEN (or the file $KENNEL_TOKEN_FILE). Waits up to
    /// 30 s for a daemon that is being restarted. What comes from a launch that has ended is refused.
    Report(report::ReportArgs),
    /// Show everything about a session
    ///
    /// What was asked for, its processes, its pen, what it uses, and its history.
    Inspect(inspect::InspectArgs),
    /// Show what happened, and who asked for it
    ///
    /// Every step of every session, from the event log.
    Events(events::EventsArgs),
    /// Remove ended sessions from the record, with their output
    ///
    /// One that was adopted is let go, and goes on by itself.
    Rm(rm::RmArgs),
    /// Remove all sessions that have ended
    Prune(prune::PruneArgs),
    /// List worktrees of sessions, or remove those that are kept
    ///
    /// A session with `run --worktree` has one. Without anything of value in it, it goes when the session has ended; else
    /// it is kept until you remove it, or the session is launched again.
    Worktrees(worktrees::WorktreesArgs),
    /// Look for processes that belong to no session
    ///
    /// Those that bear this home's mark, by their pen or their cookie, and belong to no live session. Those
    /// of a live session that another daemon started for it (docker, cron, a tmux server) are shown as
    /// `outside`: they are not Kennel's, and are left alone.
    Strays(strays::StraysArgs),
    /// Give up a session that is lost, or let go of one that was adopted
    ///
    /// For when nobody can tell any more whether it has ended. That is recorded as what it is, and not as
    /// its end. One that was adopted goes on by itself.
    Forget(forget::ForgetArgs),
    /// List and end what is there, without daemon and records
    ///
    /// By session folders, locks, keepers, pens and cookies alone: for when the daemon does not come up, or
    /// its records are broken.
    Rescue(rescue::RescueArgs),
    /// Start, stop or look after the daemon
    Daemon(daemon::DaemonArgs),
    /// Open the daemon's page in a browser
    ///
    /// So far the page says no more than which version runs.
    ///
    /// By a link that is good once, and for ten minutes; it lets this browser in for a week. If the API is not had over TCP
    /// yet, it is from then on, at loopback.
    Dashboard(dashboard::DashboardArgs),
    /// Show, make, list, rotate or revoke tokens for the API over TCP
    ///
    /// What is done takes effect at once.
    #[command(visible_alias = "tokens")]
    Token(token::TokenArgs),
    /// Show what is set by kennel.toml and the environment
    ///
    /// A flag goes before a variable (KENNEL_RUN_GRACE for `run --grace`), that before a profile, that before
    /// the rest of the file, and that before what is built in. A switch that is on is turned off by its --no-
    /// form, as in --no-detach.
    Config(config::ConfigArgs),
    /// Say what this machine offers, by trying it
    ///
    /// How each kind of pen fares in a trial, what the one that a session gets can't promise here, and how
    /// to get better. Exits with 1 if no sound pen is possible.
    Doctor(DoctorArgs),
    /// Print completions for a shell
    Completions(completions::CompletionsArgs),
}

/// Why there is nothing to do.
#[derive(Debug)]
pub(crate) enum CliError {
    /// The command line was not understood, or help was asked for.
    Usage(clap::Error),
    /// The configuration was not understood, or something else was meant than what was written.
    Refused(CommandError),
}

impl From<clap::Error> for CliError {
    fn from(error: clap::Error) -> Self {
        Self::Usage(error)
    }
}

/// What a verb does about a configuration that is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mistakes {
    /// It refuses: what it does can't be taken back.
    Refused,
    /// It says so and goes on: a slip in a file must not keep anybody from ending a session.
    Told,
}

impl Verb {
    /// The section with defaults for its flags, if it has one.
    fn section(&self) -> Option<(&'static str, Mistakes, ProfileChoice<'_>)> {
        match self {
            Self::Run(args) => {
                Some(("run", Mistakes::Refused, ProfileChoice::Chosen(args.profile.as_deref())))
            }
            Self::Stop(_) => Some(("stop", Mistakes::Told, ProfileChoice::None)),
            Self::Attach(_) => Some(("attach", Mistakes::Told, ProfileChoice::None)),
            Self::Prune(_) => Some(("prune", Mistakes::Refused, ProfileChoice::None)),
            _ => None,
        }
    }
}

impl Cli {
    /// The command line, with the configuration's defaults where it says nothing.
    pub(crate) fn read(words: Vec<OsString>) -> Result<Self, CliError> {
        let mut command = configuration::command();
        let given = match command.try_get_matches_from_mut(&words) {
            Ok(given) => given,
            Err(error) => {
                let explained = unknown_verb::explain(&command, &words, &error);
                return Err(explained.map_or(CliError::Usage(error), CliError::Refused));
            }
        };
        let mut cli = Self::from_arg_matches(&given)?;
        cli.config = Config::new(cli.file.config.take());
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

    /// What can be told from the words alone.
    fn check(&self, words: &[OsString]) -> Result<(), CommandError> {
        if let Verb::Run(args) = &self.verb {
            args.check_words(words)?;
        }
        // A file that this very command names must be there, whether or not it has use for it. `kennel config`
        // has words of its own for that.
        if self.config.named_by_flag().is_some() && !matches!(self.verb, Verb::Config(_)) {
            self.config.settings(ProfileChoice::None)?;
        }
        Ok(())
    }

    /// The defaults that differ from those built in, and whose they are.
    fn defaults(
        &self,
        command: &Command,
        given: &ArgMatches,
    ) -> Result<Option<(&'static str, Vec<configuration::Default>)>, CommandError> {
        let Some((section, mistakes, profile)) = self.verb.section() else { return Ok(None) };
        let settings = match self.config.settings(profile) {
            Ok(settings) => settings,
            Err(error) if mistakes == Mistakes::Told && self.config.named_by_flag().is_none() => {
                say(&ignored(&error));
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let Some(given) = given.subcommand_matches(section) else { return Ok(None) };
        let defaults = configuration::defaults(command, &settings, section, given);
        Ok((!defaults.is_empty()).then_some((section, defaults)))
    }

    /// Does what was asked; gives the exit code.
    pub(crate) fn perform(self) -> Result<u8, CommandError> {
        let open = || Home::open(&self.home, &self.config).map_err(CommandError::setup);
        match self.verb {
            Verb::Run(args) => run::run(&open()?, &args),
            Verb::Ask(args) => ask::ask(&open()?, &args),
            Verb::Chat(args) => run::chat(&open()?, &args),
            Verb::Answer(args) => ask::answer(&open()?, &args),
            Verb::Member(args) => member::member(&open()?, &args),
            Verb::Plan(args) => plan::plan(&open()?, &args),
            Verb::Resume(args) => run::resume(&open()?, &args),
            Verb::Adopt(args) => adopt::adopt(&open()?, args),
            Verb::Ps(args) => ps::ps(&open()?, &args),
            Verb::Logs(args) => logs::logs(&open()?, &args),
            Verb::Attach(args) => attach::attach(&open()?, &args),
            Verb::Wait(args) => wait::wait(&open()?, &args),
            Verb::Stop(args) => stop::stop(&open()?, &args),
            Verb::Kill(args) => kill::kill(&args),
            Verb::Send(args) => send::send(&open()?, &args),
            Verb::Signal(args) => signal::signal(&open()?, &args),
            Verb::Report(args) => report::report(&open()?, args),
            Verb::Inspect(args) => inspect::inspect(&open()?, &args),
            Verb::Events(args) => events::events(&open()?, &args),
            Verb::Rm(args) => rm::rm(&open()?, &args),
            Verb::Prune(args) => prune::prune(&open()?, &args),
            Verb::Worktrees(args) => worktrees::worktrees(&open()?, &args),
            Verb::Strays(args) => strays::strays(&open()?, &args),
            Verb::Forget(args) => forget::forget(&open()?, &args),
            Verb::Rescue(args) => rescue::rescue(&open()?, &args),
            Verb::Daemon(args) => daemon::daemon(&open()?, &args),
            Verb::Dashboard(args) => dashboard::dashboard(&open()?, &args),
            Verb::Token(args) => token::token(&open()?, &args),
            Verb::Config(args) => config::config(&self.config, &args),
            Verb::Doctor(args) => {
                doctor::doctor(&self.config, Home::find(&self.home).as_ref(), &args)
            }
            Verb::Completions(args) => completions::completions(&self.home, &args),
        }
    }
}

/// What is told of a configuration that is wrong and does not matter much.
pub(crate) fn ignored(error: &ConfigError) -> String {
    format!("the configuration is left aside, since it is wrong:\n{error}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use std::time::Duration;

    #[test]
    fn the_command_line_is_sound() {
        configuration::command().debug_assert();
    }

    fn every_help(command: &mut Command, texts: &mut Vec<(String, String)>) {
        let name = command.get_name().to_owned();
        texts.push((name.clone(), command.render_help().to_string()));
        texts.push((name, command.render_long_help().to_string()));
        for verb in command.get_subcommands_mut() {
            every_help(verb, texts);
        }
    }

    #[test]
    fn help_fits_80_columns() {
        let mut texts = Vec::new();
        let mut command = configuration::command();
        command.build();
        every_help(&mut command, &mut texts);
        assert!(texts.len() > 40, "all verbs, and those of the daemon");
        for (verb, text) in texts {
            for line in text.lines() {
                assert!(line.chars().count() <= 80, "{verb}: {line}");
            }
        }
    }

    #[test]
    fn every_verb_says_what_it_does_and_how_it_exits() {
        let command = Cli::command();
        for verb in command.get_subcommands() {
            assert!(verb.get_about().is_some(), "{}", verb.get_name());
        }
    }

    /// What `kennel WORDS…` comes to with this file.
    fn run_with(file: &str, words: &[&str]) -> RunArgs {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kennel.toml");
        std::fs::write(&path, file).unwrap();
        let first = ["kennel", "--config", path.to_str().unwrap(), "run"];
        let words = first.iter().chain(words).chain(&["--", "agent", "--grace", "1h"]);
        match Cli::read(words.map(OsString::from).collect()).unwrap().verb {
            Verb::Run(args) => *args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_flag_goes_before_the_file() {
        let file = "run.grace = '5s'\nrun.linger = '7s'\nrun.lease = 'off'";
        let args = run_with(file, &["--linger", "1s"]);
        assert_eq!(args.grace, Duration::from_secs(5));
        assert_eq!(args.linger, Duration::from_secs(1));
        assert_eq!(args.lease.0, None);
        assert_eq!(args.output_limit, 64 << 20, "as built in");
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
        assert!(args.detach && args.stay, "the last word counts");
        let args = run_with("run.detach = false", &["-d"]);
        assert!(args.detach);
        assert!(!run_with("", &["-d", "--no-detach"]).detach);
    }

    #[test]
    fn a_terminal_is_wanted_unwanted_or_neither() {
        let asked = |file, words| {
            let args = run_with(file, words);
            (args.tty, args.no_tty)
        };
        assert_eq!(asked("", &[]), (false, false));
        assert_eq!(asked("run.tty = true", &[]), (true, false));
        assert_eq!(asked("run.tty = false", &[]), (false, true));
        assert_eq!(asked("run.tty = true", &["-T"]), (false, true));
        assert_eq!(asked("run.tty = false", &["-t"]), (true, false));
    }

    #[test]
    fn a_profile_is_chosen_by_the_flag() {
        let file = "profile = 'a'\n[profiles.a]\ngrace = 1\n[profiles.b]\ngrace = 2\n";
        assert_eq!(run_with(file, &[]).grace, Duration::from_secs(1));
        assert_eq!(run_with(file, &["--profile", "b"]).grace, Duration::from_secs(2));
    }

    fn read(words: &[&str]) -> Result<Cli, CliError> {
        Cli::read(words.iter().map(OsString::from).collect())
    }

    #[test]
    fn a_file_that_is_named_must_be_there_for_every_verb() {
        for verb in [&["ps"][..], &["stop", "x"], &["inspect", "x"], &["daemon", "status"]] {
            let words = [&["kennel", "--config", "/no/such/file"][..], verb].concat();
            assert!(matches!(read(&words), Err(CliError::Refused(_))), "{verb:?}");
        }
        assert!(read(&["kennel", "--config", "/no/such/file", "config", "path"]).is_ok());
    }

    #[test]
    fn a_branch_without_an_equals_sign_is_not_taken_for_a_program() {
        let run = |words: &[&str]| read(&[&["kennel", "run"][..], words].concat());
        let refused = run(&["--worktree", "feature", "--", "true"]);
        assert!(matches!(refused, Err(CliError::Refused(_))), "{refused:?}");
        for sound in [
            &["--worktree=feature", "--", "true"][..],
            &["--worktree", "--", "feature", "--", "true"],
            &["--worktree", "feature", "true"],
            &["--worktree", "-d", "--", "true"],
            &["agent", "--worktree", "feature", "--", "true"],
        ] {
            assert!(run(sound).is_ok(), "{sound:?}");
        }
    }

    #[test]
    fn a_number_below_zero_is_answered_by_whoever_reads_it() {
        for (words, told) in [
            (&["run", "--timeout", "-1s", "--", "x"][..], "\"-1s\" is not a time"),
            (&["run", "--lease", "-1", "--", "x"], "\"-1\" is not a time"),
            (&["run", "--ready-timeout", "-1s", "--", "x"], "\"-1s\" is not a time"),
            (&["run", "--pids", "-3", "--", "x"], "\"-3\" is no limit on processes"),
            (&["run", "--memory", "-1G", "--", "x"], "\"-1G\" is not a size"),
            (&["run", "--cpu", "-1", "--", "x"], "\"-1\" is no limit on CPU"),
            (&["run", "--output-limit", "-1", "--", "x"], "\"-1\" is not a size"),
            (&["logs", "-n", "-1", "x"], "\"-1\" is no number of lines"),
            (&["logs", "--since", "-1m", "x"], "\"-1m\" is no moment"),
            (&["adopt", "-5"], "\"-5\" is not a pid"),
            (&["prune", "--older-than", "-1d"], "\"-1d\" is not a time"),
            (&["stop", "-t", "-1s", "x"], "\"-1s\" is not a time"),
        ] {
            let words = [&["kennel"][..], words].concat();
            let Err(CliError::Usage(error)) = read(&words) else { panic!("{words:?}") };
            let text = error.to_string();
            assert!(text.contains(told) && !text.contains("tip:"), "{words:?}: {text}");
        }
    }

    #[test]
    fn a_command_to_paste_is_on_one_line() {
        let mut command = configuration::command();
        command.build();
        let help = command.find_subcommand_mut("completions").unwrap().render_help().to_string();
        let commands = help.lines().filter(|line| line.trim().starts_with("kennel completions"));
        assert_eq!(commands.filter(|line| line.contains(" > ~/")).count(), 3, "{help}");
    }

    #[test]
    fn a_verb_that_is_nearly_right_is_suggested() {
        let error = Cli::try_parse_from(["kennel", "stpo", "x"]).unwrap_err().to_string();
        assert!(error.contains("'stop'"), "{error}");
    }
}
