//! Whether a value is one: by the very parser of the flag that it is a default for.

use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;

use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command, Id};
use toml::de::DeValue;

use super::flags;
use super::keys::{ConfigKey, Meaning, SettingKind};
use crate::quantity::{parse_size, parse_time};

/// Knows the flags.
pub(super) struct Checker {
    command: Command,
}

impl Checker {
    pub(super) fn new() -> Self {
        Self { command: flags::command() }
    }

    /// The flag that a key is a default for.
    fn flag(&self, key: &ConfigKey) -> Option<&Arg> {
        flags::find(&self.command, key.name.section, key.name.key)
    }

    fn is_switch(&self, key: &ConfigKey) -> bool {
        let of_daemon = matches!(key.meaning, Meaning::Daemon { kind: SettingKind::Switch, .. });
        of_daemon || self.flag(key).is_some_and(is_switch)
    }

    /// The text of a value in the environment, or what is wrong with it.
    pub(super) fn variable(&self, key: &ConfigKey, text: &str) -> Result<String, String> {
        if self.is_switch(key) {
            return switch(text).map(|on| on.to_string());
        }
        self.check(key, text)?;
        Ok(text.to_owned())
    }

    /// The text of a value in the file, or what is wrong with it.
    pub(super) fn value(&self, key: &ConfigKey, value: &DeValue<'_>) -> Result<String, String> {
        let name = key.name.key;
        let kind = value.type_str();
        let switch = self.is_switch(key);
        let text = match (value, key.meaning) {
            (DeValue::Boolean(on), _) if switch => return Ok(on.to_string()),
            _ if switch => return Err(format!("`{name}` is true or false, and not {}", a(kind))),
            (DeValue::Table(table), Meaning::Daemon { kind: SettingKind::CountByName, .. }) => {
                let mut parts = Vec::new();
                for (pattern, number) in table {
                    let number = plain(number.get_ref()).ok_or_else(|| {
                        let kind = number.get_ref().type_str();
                        format!("{:?} is a number, and not {}", pattern.get_ref(), a(kind))
                    })?;
                    parts.push(format!("{}={number}", pattern.get_ref()));
                }
                parts.join(",")
            }
            (DeValue::Array(names), Meaning::Daemon { kind: SettingKind::Names, .. }) => {
                let names = names.iter().map(|name| name.get_ref().as_str());
                let names: Option<Vec<_>> = names.collect();
                names.ok_or_else(|| format!("`{name}` is a list of strings"))?.join(",")
            }
            (_, Meaning::Daemon { kind: SettingKind::CountByName, .. }) => {
                return Err(format!("`{name}` is a table of numbers, and not {}", a(kind)));
            }
            _ => plain(value)
                .ok_or_else(|| format!("`{name}` is {}, and not {}", self.wanted(key), a(kind)))?,
        };
        self.check(key, &text)?;
        Ok(text)
    }

    /// What a key is, for one who wrote something of another kind.
    fn wanted(&self, key: &ConfigKey) -> String {
        let names = self.flag(key).and_then(Arg::get_value_names);
        match (names.and_then(|names| names.first()), key.meaning) {
            (Some(name), _) => format!("a string ({})", name.to_ascii_lowercase()),
            (None, Meaning::Daemon { kind: SettingKind::Count, .. }) => "a number".to_owned(),
            _ => "a string".to_owned(),
        }
    }

    fn check(&self, key: &ConfigKey, text: &str) -> Result<(), String> {
        match (self.flag(key), key.meaning) {
            (Some(flag), Meaning::Flag) => ask_flag(flag, text),
            (None, Meaning::Flag) => Err(format!("there is no flag {}", key.name)),
            (_, Meaning::Daemon { kind, .. }) => kind.check(text),
        }
    }
}

impl SettingKind {
    fn check(self, text: &str) -> Result<(), String> {
        match self {
            Self::Count => count(text).map(drop),
            Self::Time => parse_time(text).map(drop),
            Self::Size => parse_size(text).map(drop),
            Self::Folder | Self::File if Path::new(text).is_absolute() => Ok(()),
            Self::Folder | Self::File => Err(format!("{text:?} is not an absolute path")),
            Self::Address => address(text).map(drop),
            Self::Switch => switch(text).map(drop),
            Self::Names => host_names(text).map(drop),
            Self::CountByName => count_by_name(text).map(drop),
        }
    }
}

/// A number.
pub(super) fn count(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("{text:?} is not a number; write for instance 0, 20 or 1000"))
}

/// An address with a port.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    let loopback = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    let parsed = loopback.as_deref().unwrap_or(text).parse();
    parsed.map_err(|_| {
        format!("{text:?} is no address with a port; write for instance 127.0.0.1:7380 or [::1]:0")
    })
}

/// `kennel.example,front.example:443`: names of hosts, with a port if it is another.
pub(super) fn host_names(text: &str) -> Result<Vec<String>, String> {
    let names = text.split(',').filter(|name| !name.is_empty()).map(|name| {
        let (host, port) = name.rsplit_once(':').unwrap_or((name, "1"));
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
        let sound = !host.is_empty() && host.chars().all(allowed) && port.parse::<u16>().is_ok();
        match sound {
            true => Ok(name.to_owned()),
            false => Err(format!("{name:?} is no name of a host, like kennel.example")),
        }
    });
    names.collect()
}

/// `ci-*=4,fix-?=2`: numbers by patterns of names.
pub(super) fn count_by_name(text: &str) -> Result<Vec<(String, usize)>, String> {
    let parts = text.split(',').filter(|part| !part.is_empty()).map(|part| {
        let (pattern, number) = part
            .rsplit_once('=')
            .ok_or_else(|| format!("{part:?} is not a pattern with a number, like ci-*=4"))?;
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.*?".contains(c);
        if pattern.is_empty() || !pattern.chars().all(allowed) {
            return Err(format!(
                "{pattern:?} is not a pattern of names: letters, digits, - _ . and * ? for any"
            ));
        }
        Ok((pattern.to_owned(), count(number)?))
    });
    parts.collect()
}

/// A value that is written as one word.
fn plain(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.to_string()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        _ => None,
    }
}

/// `a string`, `an integer`.
pub(super) fn a(kind: &str) -> String {
    let article = if kind.starts_with(['a', 'i', 'o']) { "an" } else { "a" };
    format!("{article} {kind}")
}

pub(super) fn is_switch(flag: &Arg) -> bool {
    matches!(flag.get_action(), ArgAction::SetTrue)
}

pub(super) fn switch(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Ok(true),
        "false" | "0" | "no" | "off" => Ok(false),
        _ => Err(format!("{text:?} is neither true nor false")),
    }
}

/// Has the flag itself read the value, alone on a command line.
fn ask_flag(flag: &Arg, text: &str) -> Result<(), String> {
    let long = flag.get_long().unwrap_or_default();
    let alone = flag
        .clone()
        .conflicts_with(Resettable::<Id>::Reset)
        .overrides_with(Resettable::<Id>::Reset)
        .requires(Resettable::<Id>::Reset);
    let command = Command::new("value").no_binary_name(true).disable_help_flag(true).arg(alone);
    match command.try_get_matches_from([format!("--{long}={text}")]) {
        Ok(_) => Ok(()),
        Err(error) => Err(complaint(&error, text)),
    }
}

/// What a flag says of a value, without the words about command lines.
fn complaint(error: &clap::Error, text: &str) -> String {
    let words = |kind| match error.get(kind) {
        Some(ContextValue::Strings(words)) => words.clone(),
        Some(ContextValue::String(word)) => vec![word.clone()],
        _ => Vec::new(),
    };
    let valid = words(ContextKind::ValidValue);
    match (error.kind(), error.source()) {
        (ErrorKind::ValueValidation, Some(why)) => why.to_string(),
        (ErrorKind::InvalidValue, _) if !valid.is_empty() => {
            let near = words(ContextKind::SuggestedValue);
            let near = near.first().map(|word| format!("; did you mean {word:?}?"));
            format!("{text:?} is not one of {}{}", valid.join(", "), near.unwrap_or_default())
        }
        _ if text.is_empty() => "a value is missing".to_owned(),
        (kind, _) => format!("{text:?}: {kind}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_by_patterns_of_names() {
        let parsed = count_by_name("ci-*=4,fix.?=0").unwrap();
        assert_eq!(parsed, [("ci-*".to_owned(), 4), ("fix.?".to_owned(), 0)]);
        assert_eq!(count_by_name(""), Ok(Vec::new()));
        for (text, part) in [
            ("ci", "\"ci\" is not a pattern with a number"),
            ("=4", "\"\" is not a pattern of names"),
            ("a b=4", "\"a b\" is not a pattern of names"),
            ("ci=x", "\"x\" is not a number"),
        ] {
            let error = count_by_name(text).unwrap_err();
            assert!(error.starts_with(part), "{error}");
        }
    }

    #[test]
    fn what_the_daemon_is_told_is_checked_by_kind() {
        for (kind, good, bad) in [
            (SettingKind::Count, "20", "-1"),
            (SettingKind::Time, "10m", "10x"),
            (SettingKind::Folder, "/var/trees", "trees"),
            (SettingKind::File, "/etc/key.pem", "key.pem"),
            (SettingKind::Address, "localhost:0", "7380"),
            (SettingKind::Address, "[::1]:7380", "kennel.example:7380"),
            (SettingKind::Names, "a.example,b:443", "a b"),
            (SettingKind::Switch, "true", "maybe"),
            (SettingKind::CountByName, "a=1", "a"),
        ] {
            assert_eq!(kind.check(good), Ok(()), "{kind:?}");
            assert!(kind.check(bad).unwrap_err().contains(bad), "{kind:?}");
        }
    }

    #[test]
    fn switches_are_read_as_people_write_them() {
        for text in ["true", "1", "yes", "ON"] {
            assert_eq!(switch(text), Ok(true));
        }
        for text in ["false", "0", "no", "off"] {
            assert_eq!(switch(text), Ok(false));
        }
        assert!(switch("maybe").is_err());
    }
}
