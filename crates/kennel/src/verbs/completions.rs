//! `kennel completions`: shell completion scripts that also complete sessions.
//!
//! clap generates the completion of verbs and flags. For a value called SESSION, this module adds a
//! call of Kennel itself, which starts no daemon.

use std::path::Path;

use clap::{Arg, ArgAction, Command, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::command_prelude::*;
use crate::print::bytes;

/// The value name of arguments that take a session.
const SESSION: &str = "SESSION";
/// Verbs for live sessions only; the others also take ended ones.
const LIVE_ONLY: [&str; 6] = ["attach", "forget", "kill", "send", "signal", "stop"];
/// The start and the end of the bash functions; the cases of the verbs go in between.
const BASH_HEAD: &str = include_str!("completions/head.bash");
const BASH_TAIL: &str = include_str!("completions/tail.bash");
const ZSH: &str = include_str!("completions/sessions.zsh");

#[derive(Debug, Args)]
#[command(override_usage = "kennel completions [OPTIONS] <SHELL>")]
#[command(after_help = "\
bash:
  kennel completions bash > ~/.local/share/bash-completion/completions/kennel
zsh:
  kennel completions zsh > ~/.zfunc/_kennel
fish:
  kennel completions fish > ~/.config/fish/completions/kennel.fish")]
pub(crate) struct CompletionsArgs {
    /// Shell to generate the script for
    #[arg(value_enum, required_unless_present = "sessions")]
    shell: Option<Shell>,
    /// Print names and ids of sessions, for the scripts
    #[arg(long, value_name = "WHICH", hide = true, conflicts_with = "shell")]
    sessions: Option<CompletionScope>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CompletionScope {
    /// Sessions that have not ended
    Live,
    /// All sessions
    All,
}

pub(crate) fn completions(home: Option<&Path>, args: &CompletionsArgs) -> Result<u8, CommandError> {
    match (args.shell, args.sessions) {
        (_, Some(which)) => print(&sessions(home, which))?,
        (Some(shell), None) => bytes(script(shell).as_bytes())?,
        (None, None) => {}
    }
    Ok(0)
}

/// Returns names and ids, one per line. The user is typing: errors are ignored, no daemon starts.
fn sessions(home: Option<&Path>, which: CompletionScope) -> String {
    let all = which == CompletionScope::All;
    let daemon =
        HomeDir::find(home).and_then(|home| DaemonClient::connect(&home, StartDaemon::Never).ok());
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
    let verbs: Vec<SessionVerb> = command.get_subcommands().filter_map(SessionVerb::of).collect();
    match shell {
        Shell::Bash => bash(&text, &verbs),
        Shell::Zsh => zsh(&text),
        Shell::Fish => text + &verbs.iter().map(SessionVerb::for_fish).collect::<String>(),
        _ => text,
    }
}

#[derive(Debug)]
struct SessionVerb {
    names: Vec<String>,
    which: &'static str,
    /// The position of the session among the arguments, and whether more may follow.
    position: Option<(usize, bool)>,
    valued: Vec<String>,
    session_flags: Vec<String>,
}

impl SessionVerb {
    fn of(verb: &Command) -> Option<Self> {
        let is_session = |arg: &&Arg| {
            arg.get_value_names().is_some_and(|names| names.iter().any(|name| name == SESSION))
        };
        let position = verb.get_positionals().find(is_session).map(|arg| {
            let many = matches!(arg.get_action(), ArgAction::Append);
            (arg.get_index().unwrap_or(1), many)
        });
        let takes_next = |arg: &&Arg| {
            arg.get_action().takes_values() && !arg.is_require_equals_set() && !arg.is_positional()
        };
        let valued: Vec<&Arg> = verb.get_arguments().filter(takes_next).collect();
        let session_flags = valued.iter().copied().filter(is_session).flat_map(flags);
        let session_flags: Vec<_> = session_flags.collect();
        if position.is_none() && session_flags.is_empty() {
            return None;
        }
        let names: Vec<_> =
            verb.get_name_and_visible_aliases().into_iter().map(Into::into).collect();
        let live = names.iter().any(|name: &String| LIVE_ONLY.contains(&name.as_str()));
        Some(Self {
            names,
            which: if live { "live" } else { "all" },
            position,
            valued: valued.into_iter().flat_map(flags).collect(),
            session_flags,
        })
    }

    /// Returns the verb's case in the bash function.
    fn for_bash(&self) -> String {
        let (at, many) = match self.position {
            Some((at, many)) => (at.to_string(), if many { "1" } else { "" }),
            None => ("-1".to_owned(), ""),
        };
        format!(
            "                {}) which={} at={at} many={many} valued=' {} ' named=' {} ' ;;\n",
            self.names.join(" | "),
            self.which,
            self.valued.join(" "),
            self.session_flags.join(" "),
        )
    }

    fn for_fish(&self) -> String {
        let (verbs, which) = (self.names.join(" "), self.which);
        let line = |flag: &str| {
            format!(
                "complete -c kennel -n \"__fish_kennel_using_subcommand {verbs}\" {flag}-f -a \
                 \"(kennel completions --sessions {which} 2>/dev/null)\"\n"
            )
        };
        let position = self.position.map(|_| line(""));
        let long = self.session_flags.iter().filter_map(|flag| flag.strip_prefix("--"));
        position.into_iter().chain(long.map(|flag| line(&format!("-l {flag} -r ")))).collect()
    }
}

fn flags(arg: &Arg) -> Vec<String> {
    let short = arg.get_short().map(|short| format!("-{short}"));
    short.into_iter().chain(arg.get_long().map(|long| format!("--{long}"))).collect()
}

/// Completes a session where one is expected, and otherwise uses clap's completion.
fn bash(generated: &str, verbs: &[SessionVerb]) -> String {
    let cases: String = verbs.iter().map(SessionVerb::for_bash).collect();
    let generated = generated.replace("complete -F _kennel ", "complete -F _kennel_or_session ");
    format!("{BASH_HEAD}{cases}{BASH_TAIL}\n{generated}")
}

/// Replaces clap's default completion of session arguments.
fn zsh(generated: &str) -> String {
    const DEFAULT: &str = ":_default' \\";
    let marked = generated.lines().map(|line| {
        let session = [":session -- ", ":sessions -- ", ":SESSION:"];
        match line.strip_suffix(DEFAULT) {
            Some(begun)
                if begun.ends_with(":SESSION")
                    || session.iter().any(|mark| begun.contains(mark)) =>
            {
                format!("{begun}:_kennel_session' \\\n")
            }
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
    fn finds_every_verb_that_takes_a_session() {
        let mut command = Cli::command();
        command.build();
        let verbs: Vec<SessionVerb> =
            command.get_subcommands().filter_map(SessionVerb::of).collect();
        let names: Vec<_> = verbs.iter().flat_map(|verb| verb.names.clone()).collect();
        for verb in [
            "stop", "logs", "attach", "wait", "inspect", "send", "signal", "rm", "resume",
            "forget", "events",
        ] {
            assert!(names.iter().any(|name| name == verb), "{verb} is not in {names:?}");
        }
        assert!(!names.iter().any(|name| name == "run" || name == "ps"), "{names:?}");
        let stop = verbs.iter().find(|verb| verb.names[0] == "stop").unwrap();
        assert_eq!((stop.which, stop.position), ("live", Some((1, true))));
        assert!(stop.valued.iter().any(|flag| flag == "--grace"), "{stop:?}");
        assert!(!stop.valued.iter().any(|flag| flag == "--all"), "{stop:?}");
    }

    #[test]
    fn zsh_and_fish_complete_sessions() {
        let zsh = script(Shell::Zsh);
        assert!(
            zsh.contains(
                "'*::sessions -- Names, ids, or unique prefixes of ids:_kennel_session' \\"
            )
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
