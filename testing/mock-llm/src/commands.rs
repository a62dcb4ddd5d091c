//! The shell commands that a scenario can have an agent run, by name.

use std::collections::BTreeMap;

/// The commands every server knows.
///
/// They all end by themselves, after five minutes at the latest: each sleeps for a number of
/// seconds of its own, by which a process list distinguishes them.
const BUILT_IN: &[(&str, &str)] = &[
    // Done at once.
    ("echo", "echo hello from the tool"),
    ("short", "sleep 3; echo done"),
    // What the tool finds around itself.
    (
        "env",
        "env | sort; echo ---; ps -o pid,ppid,pgid,sid,tty,stat,cmd -p $$; ls -l /proc/self/fd; pwd",
    ),
    // Runs until it is ended: directly, and as the child of another shell.
    ("sleep", "sleep 300"),
    ("sleep_sh", "sh -c 'sleep 300; :'"),
    // Runs, and ignores requests to end.
    ("ignoreterm", "trap '' TERM INT HUP; sleep 146; sleep 147"),
    // A process in its own session; the tool continues, or ends.
    ("setsid", "setsid sleep 291 & sleep 300"),
    ("setsid_quick", "setsid sleep 291 >/dev/null 2>&1 </dev/null & echo started"),
    // One in a session of its own whose parent is gone, one that ignores hangups, one plain child.
    (
        "doublefork",
        "(setsid sh -c 'nohup sleep 292 >/dev/null 2>&1 </dev/null &') & \
         nohup sleep 293 >/dev/null 2>&1 </dev/null & sleep 294 & sleep 300",
    ),
    // The same three, with all outputs closed, and the tool ends.
    (
        "doublefork_quick",
        "(setsid sh -c 'nohup sleep 292 >/dev/null 2>&1 </dev/null &'); \
         nohup sleep 293 >/dev/null 2>&1 </dev/null & \
         (sleep 294 >/dev/null 2>&1 </dev/null &); echo started",
    ),
    // It can't be found by its environment, which is empty.
    (
        "clearenv",
        "env -i setsid sleep 295 >/dev/null 2>&1 </dev/null & \
         setsid sleep 291 >/dev/null 2>&1 </dev/null & sleep 300",
    ),
    // No environment, no session, no parent: no link to the agent at all.
    (
        "escape",
        "(setsid sh -c 'nohup sleep 292 >/dev/null 2>&1 </dev/null &'); \
         (env -i setsid sh -c 'sleep 293 >/dev/null 2>&1 </dev/null &'); \
         env -i setsid sleep 295 >/dev/null 2>&1 </dev/null & sleep 300",
    ),
    (
        "escape_quick",
        "(setsid sh -c 'nohup sleep 292 >/dev/null 2>&1 </dev/null &'); \
         (env -i setsid sh -c 'sleep 293 >/dev/null 2>&1 </dev/null &'); \
         env -i setsid sleep 295 >/dev/null 2>&1 </dev/null & echo started",
    ),
];

/// Shell commands by name, for the scenarios `bash:NAME` and `bashbg:NAME`.
///
/// There is a built-in set, which [`Commands::default`] is:
///
/// | name | what it starts |
/// |---|---|
/// | `echo`, `short` | nothing that stays |
/// | `env` | prints environment, ids, descriptors and folder |
/// | `sleep`, `sleep_sh` | a plain sleep of 300 s |
/// | `ignoreterm` | 146 s, then 147 s, ignores TERM, INT and HUP |
/// | `setsid`, `setsid_quick` | 291 s in a session of its own |
/// | `doublefork`, `doublefork_quick` | 292 s (new session, orphan), 293 s (`nohup`), 294 s |
/// | `clearenv` | 295 s (empty environment, new session), 291 s (new session) |
/// | `escape`, `escape_quick` | 292 s and 293 s (orphans; the second without environment), 295 s |
///
/// Those called `…_quick` return at once and leave their processes behind; the others also have the
/// tool itself wait for 300 s.
#[derive(Clone, Debug)]
pub struct Commands(BTreeMap<String, String>);

impl Commands {
    /// Adds a command, or replaces the one with that name.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, command: impl Into<String>) -> Self {
        self.0.insert(name.into(), command.into());
        self
    }

    /// The command of this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// All names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl Default for Commands {
    fn default() -> Self {
        let built_in = BUILT_IN.iter();
        Commands(built_in.map(|&(name, command)| (name.to_owned(), command.to_owned())).collect())
    }
}

/// The built-in commands and these.
impl<K: Into<String>, V: Into<String>, const N: usize> From<[(K, V); N]> for Commands {
    fn from(more: [(K, V); N]) -> Self {
        more.into_iter().collect()
    }
}

/// The built-in commands and these.
impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for Commands {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(more: I) -> Self {
        more.into_iter().fold(Commands::default(), |all, (name, command)| all.with(name, command))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_commands_join_the_built_in_ones() {
        let commands = Commands::from([("mine", "true"), ("echo", "echo mine")]);
        assert_eq!(commands.get("mine"), Some("true"));
        assert_eq!(commands.get("echo"), Some("echo mine"));
        assert_eq!(commands.get("sleep"), Some("sleep 300"));
        assert_eq!(commands.get("nothing"), None);
        assert_eq!(commands.names().count(), BUILT_IN.len() + 1);
    }
}
