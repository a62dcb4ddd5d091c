//! The one table of all that can be set.

use std::fmt;

/// Everything that can be set, in the order in which it is shown. A flag takes one line here: its parser and
/// what is built in are the flag's own, and its variable is named by the rule.
pub(crate) const KEYS: &[Key] = &[
    Key::flag("run", "detach"),
    Key::flag("run", "tty"),
    Key::flag("run", "stdin"),
    Key::flag("run", "detach_keys"),
    Key::flag("run", "grace"),
    Key::flag("run", "linger"),
    Key::flag("run", "lease"),
    Key::flag("run", "output_limit"),
    Key::flag("run", "stay"),
    Key::flag("run", "pen"),
    Key::flag("run", "timeout"),
    Key::flag("run", "idle"),
    Key::flag("run", "silence"),
    Key::flag("run", "memory"),
    Key::flag("run", "pids"),
    Key::flag("run", "cpu"),
    Key::flag("run", "best_effort"),
    Key::flag("run", "queue"),
    Key::flag("run", "ready"),
    Key::flag("run", "ready_timeout"),
    Key::flag("stop", "grace"),
    Key::flag("attach", "detach_keys"),
    Key::flag("prune", "older_than"),
    Key::daemon("ended_kept", Kind::Count, Some("1000")),
    Key::daemon("worktrees", Kind::Folder, None),
    Key::daemon("max_live", Kind::Count, None),
    Key::daemon("max_launching", Kind::Count, None),
    Key::daemon("max_live_by_name", Kind::CountByName, None),
    Key::daemon("key_retention", Kind::Time, Some("24h")),
    Key::daemon("min_free_disk", Kind::Size, Some("64M")),
    Key::daemon("min_free_memory", Kind::Size, Some("64M")),
    Key::daemon("reader_patience", Kind::Time, Some("1m")),
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

/// One thing that can be set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key {
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
        kind: Kind,
        /// What is built in.
        built_in: Option<&'static str>,
    },
}

/// How something of the daemon's is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A number.
    Count,
    /// A time.
    Time,
    /// A number of bytes.
    Size,
    /// An absolute path.
    Folder,
    /// A table of numbers by patterns of names.
    CountByName,
}

impl Key {
    const fn flag(section: &'static str, key: &'static str) -> Self {
        Self { name: KeyName { section, key }, meaning: Meaning::Flag }
    }

    const fn daemon(key: &'static str, kind: Kind, built_in: Option<&'static str>) -> Self {
        Self { name: KeyName { section: DAEMON, key }, meaning: Meaning::Daemon { kind, built_in } }
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
pub(super) fn of_section(section: &str) -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(move |key| key.name.section == section)
}

/// The sections, each once.
pub(super) fn sections() -> Vec<&'static str> {
    let mut sections: Vec<_> = KEYS.iter().map(|key| key.name.section).collect();
    sections.dedup();
    sections
}

/// The key of this name.
pub(super) fn find(section: &str, key: &str) -> Option<&'static Key> {
    of_section(section).find(|other| other.name.key == key)
}
