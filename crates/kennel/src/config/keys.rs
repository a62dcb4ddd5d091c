//! The one table of all that can be set.

use std::fmt;

/// Everything that can be set, in the order in which it is shown. A flag takes one line here: its parser and
/// what is built in are the flag's own, and its variable is named by the rule.
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
    ConfigKey::daemon("ended_kept", SettingKind::Count, Some("1000")),
    ConfigKey::daemon("worktrees", SettingKind::Folder, None),
    ConfigKey::daemon("max_live", SettingKind::Count, None),
    ConfigKey::daemon("max_launching", SettingKind::Count, None),
    ConfigKey::daemon("max_live_by_name", SettingKind::CountByName, None),
    ConfigKey::daemon("key_retention", SettingKind::Time, Some("24h")),
    ConfigKey::daemon("min_free_disk", SettingKind::Size, Some("64M")),
    ConfigKey::daemon("min_free_memory", SettingKind::Size, Some("64M")),
    ConfigKey::daemon("reader_patience", SettingKind::Time, Some("1m")),
    ConfigKey::api("listen", SettingKind::Address, None),
    ConfigKey::api("allow_remote", SettingKind::Switch, Some("false")),
    ConfigKey::api("tls_cert", SettingKind::File, None),
    ConfigKey::api("tls_key", SettingKind::File, None),
    ConfigKey::api("names", SettingKind::Names, None),
];

/// Flags of `run` that can't be set, and why: for those who try.
pub(super) const NOT_OFFERED: &[(&str, &str)] = &[
    ("name", "a name is for one session; --name gives it"),
    ("cwd", "the folder is that of whoever runs it; --cwd names another"),
    ("env", "what is secret does not belong in this file; --env and --env-file set variables"),
    ("env_file", "what is secret does not belong in this file; --env and --env-file set variables"),
    ("worktree", "whether a session has a worktree is for each to say; --worktree does"),
    ("key", "a key is for one request; --key gives it"),
    ("restart", "it is for one session; --restart says so"),
    ("restart_unknown", "it is for one session; --restart-unknown says so"),
    ("command", "it is what `kennel run` is given"),
    ("wait_ready", "it is about one call; --wait-ready asks for it"),
    ("profile", "it stands above all sections: profile = \"NAME\""),
];

/// The section whose keys a profile has.
pub(super) const PROFILED: &str = "run";
/// The section of the daemon.
pub(super) const DAEMON: &str = "daemon";
/// The section of the API over TCP, which is the daemon's too.
pub(crate) const API: &str = "api";

/// One thing that can be set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConfigKey {
    pub(crate) name: KeyName,
    pub(super) meaning: Meaning,
}

/// Section and key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KeyName {
    pub(crate) section: &'static str,
    pub(crate) key: &'static str,
}

/// What a key stands for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Meaning {
    /// A flag of the verb that the section is named for.
    Flag,
    /// Something that the daemon is started with.
    Daemon {
        /// How it is written.
        kind: SettingKind,
        /// What is built in.
        built_in: Option<&'static str>,
    },
}

/// How something of the daemon's is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SettingKind {
    /// A number.
    Count,
    /// A time.
    Time,
    /// A number of bytes.
    Size,
    /// An absolute path.
    Folder,
    /// The absolute path of a file.
    File,
    /// An address with a port.
    Address,
    /// True or false.
    Switch,
    /// Names of hosts.
    Names,
    /// A table of numbers by patterns of names.
    CountByName,
}

impl ConfigKey {
    const fn flag(section: &'static str, key: &'static str) -> Self {
        Self { name: KeyName { section, key }, meaning: Meaning::Flag }
    }

    const fn daemon(key: &'static str, kind: SettingKind, built_in: Option<&'static str>) -> Self {
        Self { name: KeyName { section: DAEMON, key }, meaning: Meaning::Daemon { kind, built_in } }
    }

    const fn api(key: &'static str, kind: SettingKind, built_in: Option<&'static str>) -> Self {
        Self { name: KeyName { section: API, key }, meaning: Meaning::Daemon { kind, built_in } }
    }
}

impl KeyName {
    /// The variable that sets it: `KENNEL_RUN_GRACE`.
    pub(crate) fn variable(self) -> String {
        format!("KENNEL_{}_{}", self.section, self.key).to_ascii_uppercase()
    }
}

impl fmt::Display for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.section, self.key)
    }
}

/// The keys of a section.
pub(super) fn of_section(section: &str) -> impl Iterator<Item = &'static ConfigKey> {
    KEYS.iter().filter(move |key| key.name.section == section)
}

/// The sections, each once.
pub(super) fn sections() -> Vec<&'static str> {
    let mut sections: Vec<_> = KEYS.iter().map(|key| key.name.section).collect();
    sections.dedup();
    sections
}

/// The key of this name.
pub(super) fn find(section: &str, key: &str) -> Option<&'static ConfigKey> {
    of_section(section).find(|other| other.name.key == key)
}
