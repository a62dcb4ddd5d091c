//! `kennel completions`: what shells need to complete our command line, names of sessions included.
//!
//! What clap makes knows verbs and flags. Where a value is called SESSION, what is added here asks Kennel itself, which
//! starts no daemon for that.

use clap::{Arg, ArgAction, Args, Command, CommandFactory, ValueEnum};
use clap_complete::Shell;

use crate::cli::{Cli, HomeArgs};
use crate::command_error::CommandError;
use crate::connect::{DaemonClient, StartDaemon};
use crate::home::Home;
use crate::print::{bytes, print};

/// How a value is called that stands for a session.
const SESSION: &str = "SESSION";
/// The verbs that are about those that live; the others are about those that have ended too.
const ABOUT_LIVE: [&str; 6] = ["attach", "forget", "kill", "send", "signal", "stop"];
/// What the functions for bash begin with; what each verb takes goes in between.
const BASH_HEAD: &str = include_str!("completions/head.bash");
const BASH_TAIL: &str = include_str!("completions/tail.bash");
const ZSH: &str = include_str!("completions/sessions.zsh");

/// The flags of `kennel completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
bash:
  kennel completions bash > ~/.local/share/bash-completion/completions/kennel
zsh:
  kennel completions zsh > ~/.zfunc/_kennel
fish:
  kennel completions fish > ~/.config/fish/completions/kennel.fish")]
pub(crate) struct CompletionsArgs {
    /// Which shell
    #[arg(value_enum, required_unless_present = "sessions")]
    shell: Option<Shell>,
    /// For the shells: names and ids of sessions, if a daemon runs
    #[arg(long, value_name = "WHICH", hide = true, conflicts_with = "shell")]
    sessions: Option<CompletionScope>,
}

/// Which sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CompletionScope {
    /// Those that have not ended
    Live,
    /// All on record
    All,
}

impl CompletionScope {
    fn word(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::All => "all",
        }
    }
}

/// Prints them.
pub(crate) fn completions(home: &HomeArgs, args: &CompletionsArgs) -> Result<u8, CommandError> {
    match (args.shell, args.sessions) {
        (_, Some(which)) => print(&sessions(home, which))?,
        (Some(shell), None) => bytes(script(shell).as_bytes())?,
        (None, None) => {}
    }
    Ok(0)
}

/// Names and ids, one on a line. Somebody is typing: what goes wrong is not told, and nothing is started or made.
fn sessions(home: &HomeArgs, which: CompletionScope) -> String {
    let all = which == CompletionScope::All;
    let daemon =
        Home::find(home).and_then(|home| DaemonClient::connect(&home, StartDaemon::Never).ok());
    let known = daemon.and_then(|daemon| daemon.sessions(all).ok());
    let known = known.unwrap_or_default();
    let mut words: Vec<&str> = known.iter().filter_map(|session| session.name.as_deref()).collect();
    words.sort_unstable();
    words.dedup();
    words.extend(known.iter().map(|session| session.id.as_str()));
    words.iter().map(|word| format!("{word}\n")).collect()
}

fn script(shell: Shell) -> String {
    let mut command = Cli::command();
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, "kennel", &mut text);
    let text = String::from_utf8_lossy(&text).into_owned();
    let mut command = Cli::command();
    command.build();
    let takers: Vec<SessionVerb> = command.get_subcommands().filter_map(SessionVerb::of).collect();
    match shell {
        Shell::Bash => bash(&text, &takers),
        Shell::Zsh => zsh(&text),
        Shell::Fish => text + &takers.iter().map(SessionVerb::for_fish).collect::<String>(),
        _ => text,
    }
}

/// A verb that takes sessions.
#[derive(Debug)]
struct SessionVerb {
    names: Vec<String>,
    which: CompletionScope,
    /// Which of its words that are no flags is one, and whether those after it are too.
    place: Option<(usize, bool)>,
    /// Its flags that take a value …
    valued: Vec<String>,
    /// … and those of them whose value is a session.
    session_flags: Vec<String>,
}

impl SessionVerb {
    fn of(verb: &Command) -> Option<Self> {
        let is_session = |arg: &&Arg| {
            arg.get_value_names().is_some_and(|names| names.iter().any(|name| name == SESSION))
        };
        let place = verb.get_positionals().find(is_session).map(|arg| {
            let many = matches!(arg.get_action(), ArgAction::Append);
            (arg.get_index().unwrap_or(1), many)
        });
        let takes_next = |arg: &&Arg| {
            arg.get_action().takes_values() && !arg.is_require_equals_set() && !arg.is_positional()
        };
        let valued: Vec<&Arg> = verb.get_arguments().filter(takes_next).collect();
        let session_flags = valued.iter().copied().filter(is_session).flat_map(flags);
        let session_flags: Vec<_> = session_flags.collect();
        if place.is_none() && session_flags.is_empty() {
            return None;
        }
        let names: Vec<_> =
            verb.get_name_and_visible_aliases().into_iter().map(Into::into).collect();
        let live = names.iter().any(|name: &String| ABOUT_LIVE.contains(&name.as_str()));
        Some(Self {
            names,
            which: if live { CompletionScope::Live } else { CompletionScope::All },
            place,
            valued: valued.into_iter().flat_map(flags).collect(),
            session_flags,
        })
    }

    /// A case of the function for bash.
    fn for_bash(&self) -> String {
        let (at, many) = match self.place {
            Some((at, many)) => (at.to_string(), if many { "1" } else { "" }),
            None => ("-1".to_owned(), ""),
        };
        format!(
            "                {}) which={} at={at} many={many} valued=' {} ' named=' {} ' ;;\n",
            self.names.join(" | "),
            self.which.word(),
            self.valued.join(" "),
            self.session_flags.join(" "),
        )
    }

    fn for_fish(&self) -> String {
        let (verbs, which) = (self.names.join(" "), self.which.word());
        let line = |flag: &str| {
            format!(
                "complete -c kennel -n \"__fish_kennel_using_subcommand {verbs}\" {flag}-f -a \
                 \"(kennel completions --sessions {which} 2>/dev/null)\"\n"
            )
        };
        let place = self.place.map(|_| line(""));
        let long = self.session_flags.iter().filter_map(|flag| flag.strip_prefix("--"));
        place.into_iter().chain(long.map(|flag| line(&format!("-l {flag} -r ")))).collect()
    }
}

fn flags(arg: &Arg) -> Vec<String> {
    let short = arg.get_short().map(|short| format!("-{short}"));
    short.into_iter().chain(arg.get_long().map(|long| format!("--{long}"))).collect()
}

/// Sessions go first; where none is meant, it is as clap has it.
fn bash(made: &str, takers: &[SessionVerb]) -> String {
    let cases: String = takers.iter().map(SessionVerb::for_bash).collect();
    let made = made.replace("complete -F _kennel ", "complete -F _kennel_or_session ");
    format!("{BASH_HEAD}{cases}{BASH_TAIL}\n{made}")
}

/// The places are marked in what clap has made.
fn zsh(made: &str) -> String {
    const DEFAULT: &str = ":_default' \\";
    let marked = made.lines().map(|line| {
        let session = [":session -- ", ":sessions -- ", ":SESSION:"];
        match line.strip_suffix(DEFAULT) {
            Some(begun) if session.iter().any(|mark| begun.contains(mark)) => {
                format!("{begun}:_kennel_session' \\\n")
            }
            Some(begun) if begun.ends_with(":SESSION") => format!("{begun}:_kennel_session' \\\n"),
            _ => format!("{line}\n"),
        }
    });
    let marked: String = marked.collect();
    marked.replacen("_kennel() {\n", &format!("{ZSH}\n_kennel() {{\n"), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_that_takes_a_session_is_found() {
        let mut command = Cli::command();
        command.build();
        let takers: Vec<SessionVerb> =
            command.get_subcommands().filter_map(SessionVerb::of).collect();
        let names: Vec<_> = takers.iter().flat_map(|taker| taker.names.clone()).collect();
        for verb in [
            "stop", "logs", "attach", "wait", "inspect", "send", "signal", "rm", "resume",
            "forget", "events",
        ] {
            assert!(names.iter().any(|name| name == verb), "{verb} is not in {names:?}");
        }
        assert!(!names.iter().any(|name| name == "run" || name == "ps"), "{names:?}");
        let stop = takers.iter().find(|taker| taker.names[0] == "stop").unwrap();
        assert_eq!((stop.which, stop.place), (CompletionScope::Live, Some((1, true))));
        assert!(stop.valued.iter().any(|flag| flag == "--grace"), "{stop:?}");
        assert!(!stop.valued.iter().any(|flag| flag == "--all"), "{stop:?}");
    }

    #[test]
    fn zsh_and_fish_ask_for_sessions() {
        let zsh = script(Shell::Zsh);
        assert!(
            zsh.contains("'*::sessions -- Names, ids, or beginnings of ids:_kennel_session' \\")
        );
        assert!(zsh.contains("]:SESSION:_kennel_session' \\"), "events --session");
        assert_eq!(zsh.matches("_kennel_session() {").count(), 1);
        let fish = script(Shell::Fish);
        let line =
            "\"__fish_kennel_using_subcommand stop\" -f -a \"(kennel completions --sessions live";
        assert!(fish.contains(line));
        assert!(fish.contains("subcommand events\" -l session -r -f -a"));
    }
}
