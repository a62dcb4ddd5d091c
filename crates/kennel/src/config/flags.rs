//! Settings as defaults of flags.

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory};

use super::keys::{self, ConfigKey, is_switch};
use super::layers::Settings;
use crate::cli::Cli;

/// A default that differs from the built-in one: argument id and value.
pub(crate) type Default = (String, String);

/// Builds the command line. Every switch that can be set has a `--no-` form that turns it off.
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

/// Finds the argument that a key is a default for.
pub(super) fn find<'a>(command: &'a Command, section: &str, key: &str) -> Option<&'a Arg> {
    let verb = command.find_subcommand(section)?;
    verb.get_arguments().find(|arg| arg.get_id() == key)
}

pub(crate) fn built_in(command: &Command, key: &ConfigKey) -> Option<String> {
    if key.kind.is_some() {
        return key.built_in.map(ToOwned::to_owned);
    }
    let flag = find(command, key.name.section, key.name.key)?;
    if is_switch(flag) {
        // By default, a switch with a visible opposite (--tty, --no-tty) is in a third state.
        let undecided =
            find(command, key.name.section, &negation(key)).is_some_and(|no| !no.is_hide_set());
        return (!undecided).then(|| "false".to_owned());
    }
    let values = flag.get_default_values();
    values.first().map(|value| value.to_string_lossy().into_owned())
}

/// Returns the defaults that the settings give a verb, except for flags on the command line.
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

/// Builds the command line with these defaults for a verb.
pub(crate) fn with_defaults(section: &str, defaults: Vec<Default>) -> Command {
    command().mut_subcommand(section, |mut verb| {
        for (id, value) in defaults {
            verb = verb.mut_arg(id, |arg| arg.default_value(value));
        }
        verb
    })
}
