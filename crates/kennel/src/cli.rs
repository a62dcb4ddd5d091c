//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::doctor::{self, DoctorArgs};
use crate::failure::Failure;
use crate::home::Home;
use crate::run::{self, RunArgs};
use crate::verbs::{
    attach, completions, daemon, events, forget, inspect, kill, logs, prune, ps, rescue, rm, send,
    signal, stop, strays, wait,
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
    Run(RunArgs),
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
    /// Says of each whether it was stopped, was gone already, or is still alive, and why.
    Stop(stop::StopArgs),
    /// What others call `stop --now`
    #[command(hide = true)]
    Kill(kill::KillArgs),
    /// Type something into a session
    Send(send::SendArgs),
    /// Send a signal to every process of a session
    Signal(signal::SignalArgs),
    /// Show everything about a session
    ///
    /// What was asked for, its processes, its pen, what it uses, and its history.
    Inspect(inspect::InspectArgs),
    /// Show what happened, and who asked for it
    ///
    /// Every step of every session, from the event log.
    Events(events::EventsArgs),
    /// Remove ended sessions from the record, with their output
    Rm(rm::RmArgs),
    /// Remove all sessions that have ended
    Prune(prune::PruneArgs),
    /// Look for processes that belong to no session
    ///
    /// Those that bear this home's mark, by their pen or their cookie, and belong to no live session. Those
    /// of a live session that another daemon started for it (docker, cron, a tmux server) are shown as
    /// `outside`: they are not Kennel's, and are left alone.
    Strays(strays::StraysArgs),
    /// Give up a session that is lost
    ///
    /// For when nobody can tell any more whether it has ended. That is recorded as what it is, and not as
    /// its end.
    Forget(forget::ForgetArgs),
    /// List and end what is there, without daemon and records
    ///
    /// By session folders, locks, keepers, pens and cookies alone: for when the daemon does not come up, or
    /// its records are broken.
    Rescue(rescue::RescueArgs),
    /// Start, stop or look after the daemon
    Daemon(daemon::DaemonArgs),
    /// Say what this machine offers, by trying it
    ///
    /// How each kind of pen fares in a trial, what the one that a session gets can't promise here, and how
    /// to get better. Exits with 1 if no sound pen is possible.
    Doctor(DoctorArgs),
    /// Print completions for a shell
    Completions(completions::CompletionsArgs),
}

impl Cli {
    /// Does what was asked; gives the exit code.
    pub(crate) fn perform(self) -> Result<u8, Failure> {
        let open = || Home::open(&self.home).map_err(Failure::setup);
        match self.verb {
            Verb::Run(args) => run::run(&open()?, &args),
            Verb::Ps(args) => ps::ps(&open()?, &args),
            Verb::Logs(args) => logs::logs(&open()?, &args),
            Verb::Attach(args) => attach::attach(&open()?, &args),
            Verb::Wait(args) => wait::wait(&open()?, &args),
            Verb::Stop(args) => stop::stop(&open()?, &args),
            Verb::Kill(args) => kill::kill(&args),
            Verb::Send(args) => send::send(&open()?, &args),
            Verb::Signal(args) => signal::signal(&open()?, &args),
            Verb::Inspect(args) => inspect::inspect(&open()?, &args),
            Verb::Events(args) => events::events(&open()?, &args),
            Verb::Rm(args) => rm::rm(&open()?, &args),
            Verb::Prune(args) => prune::prune(&open()?, &args),
            Verb::Strays(args) => strays::strays(&open()?, &args),
            Verb::Forget(args) => forget::forget(&open()?, &args),
            Verb::Rescue(args) => rescue::rescue(&open()?, &args),
            Verb::Daemon(args) => daemon::daemon(&open()?, &args),
            Verb::Doctor(args) => doctor::doctor(&args),
            Verb::Completions(args) => completions::completions(&args),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command, CommandFactory};

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
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
        let mut command = Cli::command();
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

    #[test]
    fn a_verb_that_is_nearly_right_is_suggested() {
        let error = Cli::try_parse_from(["kennel", "stpo", "x"]).unwrap_err().to_string();
        assert!(error.contains("'stop'"), "{error}");
    }
}
