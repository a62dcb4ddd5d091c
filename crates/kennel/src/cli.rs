//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::exit_code;

/// Runs coding agents, and owns every process of theirs: no strays.
#[derive(Debug, Parser)]
#[command(name = "kennel", version, max_term_width = 80, disable_help_subcommand = true)]
#[command(after_help = "Try:  kennel run -- claude      kennel doctor")]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) home: HomeArgs,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// Where Kennel keeps its records.
#[derive(Debug, Args)]
pub(crate) struct HomeArgs {
    /// The folder with Kennel's records
    /// [default: $KENNEL_HOME, $XDG_STATE_HOME/kennel or ~/.local/state/kennel]
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) home: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Run a command in the foreground, and leave nothing of it behind
    ///
    /// Its streams are ours. If they are a terminal, it gets a terminal of its own, and Control-C is a key
    /// for it, as it would be without Kennel; the third within two seconds stops the whole tree, the next
    /// kills it. INT, TERM, HUP and QUIT to Kennel itself stop the whole tree: TERM to every process,
    /// KILL after the grace; a second INT kills at once. When this returns, no process of the command is
    /// left, or it is named and the exit code is 205.
    Run(RunArgs),
    /// Say what this machine offers, by trying it
    ///
    /// How each kind of pen fares in a trial, what the one that a session gets can't promise here, and how
    /// to get better. Exits with 1 if no sound pen is possible.
    Doctor(DoctorArgs),
}

/// The flags of `kennel run`.
#[derive(Debug, Args)]
#[command(after_help = exit_code::HELP)]
pub(crate) struct RunArgs {
    /// How long a stop waits between TERM and KILL (500ms, 10s, 2m)
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_time)]
    pub(crate) grace: Duration,
    /// How long what the command leaves behind may go on after its exit,
    /// before it gets a TERM and, a second later, a KILL
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = parse_time)]
    pub(crate) linger: Duration,
    /// What holds the processes; `kennel doctor` tries each
    #[arg(long, value_enum, default_value_t = PenChoice::Auto)]
    pub(crate) pen: PenChoice,
    /// A name for the session, told to it as $KENNEL_SESSION_NAME
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    pub(crate) name: Option<String>,
    /// The folder to start in [default: this one]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Set a variable, or (NAME alone) insist that it is set here
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<OsString>,
    /// Read variables from a file of NAME=VALUE lines
    #[arg(long, value_name = "FILE")]
    pub(crate) env_file: Vec<PathBuf>,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
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

/// The flags of `kennel doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print JSON, for programs
    #[arg(long)]
    pub(crate) json: bool,
}

/// `10`, `10s`, `500ms`, `2m`, `1h`, `1.5s`.
fn parse_time(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is not a time; write for instance 500ms, 10s, 2m or 1h");
    let digits = text.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let seconds = match unit {
        "" | "s" => 1.0,
        "ms" => 0.001,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    let number = number.parse::<f64>().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(number * seconds).map_err(|_| wrong())
}

fn parse_name(text: &str) -> Result<String, String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let starts_well = text.starts_with(|c: char| c.is_ascii_alphanumeric());
    if (1..=64).contains(&text.len()) && text.chars().all(allowed) && starts_well {
        Ok(text.to_owned())
    } else {
        Err("a name is 1 to 64 letters, digits, - _ or . and starts with a letter or digit".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn times_are_read_with_and_without_units() {
        for (text, milliseconds) in [
            ("10", 10_000),
            ("10s", 10_000),
            ("500ms", 500),
            ("2m", 120_000),
            ("1.5s", 1500),
            ("0", 0),
        ] {
            assert_eq!(parse_time(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in ["", "s", "-1", "1d", "10 s", "1e9", "..", "99999999999999999999h"] {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn names_with_slashes_blanks_or_nothing_in_them_are_refused() {
        assert_eq!(parse_name("fix-login.2"), Ok("fix-login.2".to_owned()));
        for text in ["", "a/b", "a b", "-x", ".", "ü"] {
            assert!(parse_name(text).is_err(), "{text}");
        }
    }

    #[test]
    fn help_fits_80_columns() {
        let mut command = Cli::command();
        let mut texts = vec![command.render_long_help().to_string()];
        for verb in ["run", "doctor"] {
            let verb = command.find_subcommand_mut(verb).expect("a verb");
            texts.push(verb.render_long_help().to_string());
            texts.push(verb.render_help().to_string());
        }
        for line in texts.iter().flat_map(|text| text.lines()) {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
