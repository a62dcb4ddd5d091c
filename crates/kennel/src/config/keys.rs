//! The table of all settings, and the checks of their values.

use std::error::Error;
use std::fmt;
use std::net::SocketAddr;
use std::path::Path;

use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command, Id};
use toml::de::DeValue;

use super::flags;
use crate::quantity::{parse_size, parse_time};

/// Every setting, in the order in which `kennel config show` lists them. A flag takes one line
/// here: its parser and its built-in default are the flag's own.
pub(crate) const KEYS: &[ConfigKey] = &[
    ConfigKey::flag("run", "detach"),
    ConfigKey::flag("run", "tty"),
    ConfigKey::flag("run", "stdin"),
    ConfigKey::flag("run", "detach_keys"),
    ConfigKey::flag("run", "grace"),
    ConfigKey::flag("run", "linger"),
    ConfigKey::flag("run", "lease"),
    ConfigKey::flag("run", "output_limit"),
    ConfigKey::flag("run", "stay"),
    ConfigKey::flag("run", "pen"),
    ConfigKey::flag("run", "timeout"),
    ConfigKey::flag("run", "idle"),
    ConfigKey::flag("run", "silence"),
    ConfigKey::flag("run", "memory"),
    ConfigKey::flag("run", "pids"),
    ConfigKey::flag("run", "cpu"),
    ConfigKey::flag("run", "best_effort"),
    ConfigKey::flag("run", "queue"),
    ConfigKey::flag("run", "ready"),
    ConfigKey::flag("run", "ready_timeout"),
    ConfigKey::flag("stop", "grace"),
    ConfigKey::flag("attach", "detach_keys"),
    ConfigKey::flag("prune", "older_than"),
    ConfigKey::daemon(DAEMON, "ended_kept", SettingKind::Count, Some("1000")),
    ConfigKey::daemon(DAEMON, "worktrees", SettingKind::Path, None),
    ConfigKey::daemon(DAEMON, "max_live", SettingKind::Count, None),
    ConfigKey::daemon(DAEMON, "max_launching", SettingKind::Count, None),
    ConfigKey::daemon(DAEMON, "max_live_by_name", SettingKind::CountByName, None),
    ConfigKey::daemon(DAEMON, "key_retention", SettingKind::Time, Some("24h")),
    ConfigKey::daemon(DAEMON, "min_free_disk", SettingKind::Size, Some("64M")),
    ConfigKey::daemon(DAEMON, "min_free_memory", SettingKind::Size, Some("64M")),
    ConfigKey::daemon(DAEMON, "write_timeout", SettingKind::Time, Some("1m")),
    ConfigKey::daemon(API, "listen", SettingKind::Address, None),
    ConfigKey::daemon(API, "allow_remote", SettingKind::Switch, Some("false")),
    ConfigKey::daemon(API, "tls_cert", SettingKind::Path, None),
    ConfigKey::daemon(API, "tls_key", SettingKind::Path, None),
    ConfigKey::daemon(API, "names", SettingKind::HostNames, None),
];

/// Flags of `run` that can't be set in the file, with the reason that the error shows.
pub(super) const NOT_CONFIGURABLE: &[(&str, &str)] = &[
    ("name", "it applies to one session; use --name"),
    ("cwd", "it is the folder in which you run the command; use --cwd for another"),
    ("env", "secrets don't belong in this file; use --env or --env-file"),
    ("env_file", "secrets don't belong in this file; use --env or --env-file"),
    ("worktree", "it is decided for each session; use --worktree"),
    ("key", "it applies to one request; use --key"),
    ("restart", "it applies to one session; use --restart"),
    ("restart_unknown", "it applies to one session; use --restart-unknown"),
    ("command", "it is the argument of `kennel run`"),
    ("wait_ready", "it applies to one call; use --wait-ready"),
    ("profile", "write profile = \"NAME\" at the top level, outside of all sections"),
];

/// The section whose keys a profile can set.
pub(super) const PROFILED: &str = "run";
pub(super) const DAEMON: &str = "daemon";
/// The section for the daemon's API over TCP.
pub(crate) const API: &str = "api";

#[derive(Debug, Clone, Copy)]
pub(crate) struct ConfigKey {
    pub(crate) name: KeyName,
    /// How a setting of the daemon is written. A flag of the section's verb has none.
    pub(super) kind: Option<SettingKind>,
    pub(super) built_in: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KeyName {
    pub(crate) section: &'static str,
    pub(crate) key: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SettingKind {
    Count,
    Time,
    Size,
    Path,
    Address,
    Switch,
    HostNames,
    /// A table of numbers by name pattern.
    CountByName,
}

impl ConfigKey {
    const fn flag(section: &'static str, key: &'static str) -> Self {
        Self { name: KeyName { section, key }, kind: None, built_in: None }
    }

    const fn daemon(
        section: &'static str,
        key: &'static str,
        kind: SettingKind,
        built_in: Option<&'static str>,
    ) -> Self {
        Self { name: KeyName { section, key }, kind: Some(kind), built_in }
    }
}

impl KeyName {
    /// Returns the environment variable that sets the key: `KENNEL_RUN_GRACE`.
    pub(crate) fn variable(self) -> String {
        format!("KENNEL_{}_{}", self.section, self.key).to_ascii_uppercase()
    }
}

impl fmt::Display for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.section, self.key)
    }
}

pub(super) fn of_section(section: &str) -> impl Iterator<Item = &'static ConfigKey> {
    KEYS.iter().filter(move |key| key.name.section == section)
}

pub(super) fn sections() -> Vec<&'static str> {
    let mut sections: Vec<_> = KEYS.iter().map(|key| key.name.section).collect();
    sections.dedup();
    sections
}

pub(super) fn find(section: &str, key: &str) -> Option<&'static ConfigKey> {
    of_section(section).find(|other| other.name.key == key)
}

/// Checks values. A value for a flag is checked by the flag's own parser.
pub(super) struct Checker {
    command: Command,
}

impl Checker {
    pub(super) fn new() -> Self {
        Self { command: flags::command() }
    }

    fn flag(&self, key: &ConfigKey) -> Option<&Arg> {
        flags::find(&self.command, key.name.section, key.name.key)
    }

    fn is_switch(&self, key: &ConfigKey) -> bool {
        key.kind == Some(SettingKind::Switch) || self.flag(key).is_some_and(is_switch)
    }

    /// Checks a value from the environment, and returns its normal form.
    pub(super) fn variable(&self, key: &ConfigKey, text: &str) -> Result<String, String> {
        if self.is_switch(key) {
            return switch(text).map(|on| on.to_string());
        }
        self.check(key, text)?;
        Ok(text.to_owned())
    }

    /// Checks a value from the file, and returns it as text.
    pub(super) fn value(&self, key: &ConfigKey, value: &DeValue<'_>) -> Result<String, String> {
        let name = key.name.key;
        let wrong = |wanted: &str| {
            Err(format!("`{name}` must be {wanted}, not {}", with_article(value.type_str())))
        };
        let text = match (value, key.kind) {
            (DeValue::Boolean(on), _) if self.is_switch(key) => return Ok(on.to_string()),
            _ if self.is_switch(key) => return wrong("true or false"),
            (DeValue::Table(table), Some(SettingKind::CountByName)) => {
                let mut parts = Vec::new();
                for (pattern, number) in table {
                    let (pattern, number) = (pattern.get_ref(), number.get_ref());
                    let number = plain(number).ok_or_else(|| {
                        let kind = with_article(number.type_str());
                        format!("{pattern:?} must be a number, not {kind}")
                    })?;
                    parts.push(format!("{pattern}={number}"));
                }
                parts.join(",")
            }
            (DeValue::Array(names), Some(SettingKind::HostNames)) => {
                let names: Option<Vec<_>> = names.iter().map(|it| it.get_ref().as_str()).collect();
                names.ok_or_else(|| format!("`{name}` must be a list of strings"))?.join(",")
            }
            (_, Some(SettingKind::CountByName)) => return wrong("a table of numbers"),
            _ => match plain(value) {
                Some(text) => text,
                None => return wrong(&self.expected(key)),
            },
        };
        self.check(key, &text)?;
        Ok(text)
    }

    /// Describes the expected type, for a value of another type.
    fn expected(&self, key: &ConfigKey) -> String {
        let names = self.flag(key).and_then(Arg::get_value_names);
        match (names.and_then(|names| names.first()), key.kind) {
            (Some(name), _) => format!("a string ({})", name.to_ascii_lowercase()),
            (None, Some(SettingKind::Count)) => "a number".to_owned(),
            _ => "a string".to_owned(),
        }
    }

    fn check(&self, key: &ConfigKey, text: &str) -> Result<(), String> {
        match (self.flag(key), key.kind) {
            (_, Some(kind)) => kind.check(text),
            (Some(flag), None) => check_by_flag(flag, text),
            (None, None) => Err(format!("unknown flag {}", key.name)),
        }
    }
}

impl SettingKind {
    pub(super) fn check(self, text: &str) -> Result<(), String> {
        match self {
            Self::Count => count(text).map(drop),
            Self::Time => parse_time(text).map(drop),
            Self::Size => parse_size(text).map(drop),
            Self::Path if Path::new(text).is_absolute() => Ok(()),
            Self::Path => Err(format!("invalid path {text:?}: expected an absolute path")),
            Self::Address => address(text).map(drop),
            Self::Switch => switch(text).map(drop),
            Self::HostNames => host_names(text).map(drop),
            Self::CountByName => count_by_name(text).map(drop),
        }
    }
}

pub(super) fn count(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("invalid number {text:?}: expected for example 0, 20 or 1000"))
}

/// Parses an IP address with a port; `localhost` stands for 127.0.0.1.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    let loopback = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    loopback.as_deref().unwrap_or(text).parse().map_err(|_| {
        format!(
            "invalid address {text:?}: expected ADDRESS:PORT, for example 127.0.0.1:7380 or [::1]:0"
        )
    })
}

/// Parses `kennel.example,front.example:443`.
pub(super) fn host_names(text: &str) -> Result<Vec<String>, String> {
    let names = text.split(',').filter(|name| !name.is_empty()).map(|name| {
        let (host, port) = name.rsplit_once(':').unwrap_or((name, "1"));
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
        let valid = !host.is_empty() && host.chars().all(allowed) && port.parse::<u16>().is_ok();
        valid.then(|| name.to_owned()).ok_or_else(|| {
            format!("invalid host name {name:?}: expected for example kennel.example")
        })
    });
    names.collect()
}

/// Parses `ci-*=4,fix-?=2`.
pub(super) fn count_by_name(text: &str) -> Result<Vec<(String, usize)>, String> {
    let parts = text.split(',').filter(|part| !part.is_empty()).map(|part| {
        let (pattern, number) = part.rsplit_once('=').ok_or_else(|| {
            format!("invalid limit {part:?}: expected PATTERN=NUMBER, for example ci-*=4")
        })?;
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.*?".contains(c);
        if pattern.is_empty() || !pattern.chars().all(allowed) {
            return Err(format!(
                "invalid name pattern {pattern:?}: use letters, digits, - _ . and the wildcards * and ?"
            ));
        }
        Ok((pattern.to_owned(), count(number)?))
    });
    parts.collect()
}

/// Returns a string or a number as text.
fn plain(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.to_string()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        _ => None,
    }
}

/// `a string`, `an integer`.
pub(super) fn with_article(kind: &str) -> String {
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
        _ => Err(format!("invalid value {text:?}: expected true or false")),
    }
}

/// Has the flag itself parse the value, alone on a command line.
fn check_by_flag(flag: &Arg, text: &str) -> Result<(), String> {
    let long = flag.get_long().unwrap_or_default();
    let alone = flag
        .clone()
        .conflicts_with(Resettable::<Id>::Reset)
        .overrides_with(Resettable::<Id>::Reset)
        .requires(Resettable::<Id>::Reset);
    let command = Command::new("value").no_binary_name(true).disable_help_flag(true).arg(alone);
    match command.try_get_matches_from([format!("--{long}={text}")]) {
        Ok(_) => Ok(()),
        Err(error) => Err(without_usage(&error, text)),
    }
}

/// Returns the part of clap's error about the value, without its text about the command line.
fn without_usage(error: &clap::Error, text: &str) -> String {
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
            let valid = valid.join(", ");
            format!("invalid value {text:?}: expected one of {valid}{}", near.unwrap_or_default())
        }
        _ if text.is_empty() => "a value is missing".to_owned(),
        (kind, _) => format!("{text:?}: {kind}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_limits_by_name_pattern() {
        let parsed = count_by_name("ci-*=4,fix.?=0").unwrap();
        assert_eq!(parsed, [("ci-*".to_owned(), 4), ("fix.?".to_owned(), 0)]);
        assert_eq!(count_by_name(""), Ok(Vec::new()));
        for (text, part) in [
            ("ci", "invalid limit \"ci\""),
            ("=4", "invalid name pattern \"\""),
            ("a b=4", "invalid name pattern \"a b\""),
            ("ci=x", "invalid number \"x\""),
        ] {
            let error = count_by_name(text).unwrap_err();
            assert!(error.starts_with(part), "{error}");
        }
    }

    #[test]
    fn checks_the_daemons_settings_by_kind() {
        for (kind, good, bad) in [
            (SettingKind::Count, "20", "-1"),
            (SettingKind::Time, "10m", "10x"),
            (SettingKind::Path, "/var/trees", "trees"),
            (SettingKind::Address, "localhost:0", "7380"),
            (SettingKind::Address, "[::1]:7380", "kennel.example:7380"),
            (SettingKind::HostNames, "a.example,b:443", "a b"),
            (SettingKind::Switch, "true", "maybe"),
            (SettingKind::CountByName, "a=1", "a"),
        ] {
            assert_eq!(kind.check(good), Ok(()), "{kind:?}");
            assert!(kind.check(bad).unwrap_err().contains(bad), "{kind:?}");
        }
    }

    #[test]
    fn parses_switches() {
        for text in ["true", "1", "yes", "ON"] {
            assert_eq!(switch(text), Ok(true));
        }
        for text in ["false", "0", "no", "off"] {
            assert_eq!(switch(text), Ok(false));
        }
        assert!(switch("maybe").is_err());
    }
}
