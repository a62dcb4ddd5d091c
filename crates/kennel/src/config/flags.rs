//! Settings as the defaults of flags.

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory};

use super::check::is_switch;
use super::keys::{self, ConfigKey, Meaning};
use super::settings::Settings;
use crate::cli::Cli;

/// A default that is not the built-in one: of which argument, and what.
pub(crate) type Default = (String, String);

/// The whole command line. Every switch that can be set has a `--no-` form, to have it off all the same.
pub(crate) fn command() -> Command {
    let mut command = Cli::command();
    for section in keys::sections() {
        if command.find_subcommand(section).is_some() {
            command = command.mut_subcommand(section, |verb| with_negations(verb, section));
        }
    }
    command
}

fn with_negations(mut verb: Command, section: &str) -> Command {
    for key in keys::of_section(section) {
        let argument = |id: &str| verb.get_arguments().find(|arg| arg.get_id() == id);
        let negation = negation(key);
        if argument(key.name.key).is_some_and(is_switch) && argument(&negation).is_none() {
            let long = negation.replace('_', "-");
            let negation = Arg::new(negation).long(long).action(ArgAction::SetTrue).hide(true);
            verb = verb.arg(negation.overrides_with(key.name.key));
        }
    }
    verb
}

fn negation(key: &ConfigKey) -> String {
    format!("no_{}", key.name.key)
}

/// The argument that a key is a default for.
pub(super) fn find<'a>(command: &'a Command, section: &str, key: &str) -> Option<&'a Arg> {
    let verb = command.find_subcommand(section)?;
    verb.get_arguments().find(|arg| arg.get_id() == key)
}

/// What is built in for a key, if anything is.
pub(crate) fn built_in(command: &Command, key: &ConfigKey) -> Option<String> {
    if let Meaning::Daemon { built_in, .. } = key.meaning {
        return built_in.map(ToOwned::to_owned);
    }
    let flag = find(command, key.name.section, key.name.key)?;
    // One with a flag for either is neither by itself.
    if is_switch(flag) {
        let undecided =
            find(command, key.name.section, &negation(key)).is_some_and(|no| !no.is_hide_set());
        return (!undecided).then(|| "false".to_owned());
    }
    let values = flag.get_default_values();
    values.first().map(|value| value.to_string_lossy().into_owned())
}

/// The defaults that the settings give a verb, but for what the command line itself says.
pub(crate) fn defaults(
    command: &Command,
    settings: &Settings,
    section: &str,
    given: &ArgMatches,
) -> Vec<Default> {
    let is_given = |id: &str| {
        given.try_contains_id(id).is_ok()
            && given.value_source(id) == Some(ValueSource::CommandLine)
    };
    let mut defaults = Vec::new();
    for key in keys::of_section(section) {
        let (id, negation) = (key.name.key, negation(key));
        let Some(setting) = settings.get(key.name) else { continue };
        if is_given(id) || is_given(&negation) {
            continue;
        }
        let switch = find(command, section, id).is_some_and(is_switch);
        defaults.push(match (switch, setting.text.as_str()) {
            (true, "false") => (negation, "true".to_owned()),
            (_, text) => (id.to_owned(), text.to_owned()),
        });
    }
    defaults
}

/// The command line with these for a verb.
pub(crate) fn with_defaults(section: &str, defaults: Vec<Default>) -> Command {
    command().mut_subcommand(section, |mut verb| {
        for (id, value) in defaults {
            verb = verb.mut_arg(id, |arg| arg.default_value(value));
        }
        verb
    })
}
