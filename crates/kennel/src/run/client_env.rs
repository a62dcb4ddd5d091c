//! The agent's client_env: ours, with what the command line adds.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use kennel_pen::{HOME_COOKIE, SESSION_COOKIE};
use rustix::fs::Mode;
use rustix::process::Resource;

/// The variable with the session's name.
const NAME: &str = "KENNEL_SESSION_NAME";

/// What Kennel itself sets for the agent: another value would be lost, or lead it astray.
const OWN: [&str; 8] = [
    HOME_COOKIE,
    SESSION_COOKIE,
    NAME,
    "KENNEL_HOME",
    "KENNEL_SESSION",
    "KENNEL_SOCKET",
    "KENNEL_TOKEN",
    "KENNEL_TOKEN_FILE",
];

/// All that a process can be limited in.
const RESOURCES: [Resource; 16] = [
    Resource::Cpu,
    Resource::Fsize,
    Resource::Data,
    Resource::Stack,
    Resource::Core,
    Resource::Rss,
    Resource::Nproc,
    Resource::Nofile,
    Resource::Memlock,
    Resource::As,
    Resource::Locks,
    Resource::Sigpending,
    Resource::Msgqueue,
    Resource::Nice,
    Resource::Rtprio,
    Resource::Rttime,
];

/// The environment: the last word on a variable wins, first ours, then files, then `--env`. A session that we
/// may be in ourselves leaves no mark in it.
pub(crate) fn environment(
    files: &[PathBuf],
    given: &[OsString],
    name: Option<&str>,
) -> anyhow::Result<Vec<(OsString, OsString)>> {
    // One that no program could have set on purpose (`=x=y`) is not worth a refusal.
    let sound = |name: &OsStr| !name.is_empty() && !name.as_bytes().contains(&b'=');
    let mut variables = EnvVariables::default();
    for (name, value) in std::env::vars_os().filter(|(name, _)| sound(name)) {
        variables.set(name, value);
    }
    for name in [HOME_COOKIE, SESSION_COOKIE, NAME] {
        variables.remove(name);
    }
    for file in files {
        let text = fs::read(file).with_context(|| format!("--env-file {}", file.display()))?;
        for (name, value) in parse_file(&text, file)? {
            variables.set(name, value);
        }
    }
    for given in given {
        let (name, value) = variable(given)?;
        variables.set(name, value);
    }
    if let Some(name) = name {
        variables.set(NAME.into(), name.into());
    }
    Ok(variables.0)
}

/// EnvVariables in the order in which they were first set.
#[derive(Default)]
struct EnvVariables(Vec<(OsString, OsString)>);

impl EnvVariables {
    fn set(&mut self, name: OsString, value: OsString) {
        match self.0.iter_mut().find(|(other, _)| *other == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name, value)),
        }
    }

    fn remove(&mut self, name: &str) {
        self.0.retain(|(other, _)| other != name);
    }
}

/// The folder to start in.
pub(crate) fn folder(cwd: Option<&Path>) -> anyhow::Result<PathBuf> {
    match cwd {
        Some(cwd) => std::path::absolute(cwd).with_context(|| format!("--cwd {}", cwd.display())),
        None => std::env::current_dir()
            .context("the folder that we are in is gone; --cwd names another"),
    }
}

/// Our umask. It can only be read by setting it, and no other thread makes files yet.
pub(crate) fn umask() -> u32 {
    let ours = rustix::process::umask(Mode::from_raw_mode(0o077));
    rustix::process::umask(ours);
    ours.as_raw_mode()
}

/// Our limits: resource, soft, hard; the largest number is none.
pub(crate) fn limits() -> Vec<(u32, u64, u64)> {
    let number = |limit: Option<u64>| limit.unwrap_or(u64::MAX);
    let limit = |resource: Resource| {
        let limit = rustix::process::getrlimit(resource);
        (resource as u32, number(limit.current), number(limit.maximum))
    };
    RESOURCES.map(limit).to_vec()
}

/// `NAME=VALUE`, or `NAME` alone: then ours, which must be there.
fn variable(given: &OsStr) -> anyhow::Result<(OsString, OsString)> {
    if let Some((name, value)) = split(given.as_bytes()) {
        // The value may be a secret, so it is not shown.
        check_name(&name).map_err(|why| anyhow!("--env {}: {why}", name.display()))?;
        return Ok((name, value));
    }
    check_name(given).map_err(|why| anyhow!("--env {}: {why}", given.display()))?;
    let value = std::env::var_os(given).with_context(|| {
        format!("--env {}: it is not set here, and no value was given", given.to_string_lossy())
    })?;
    Ok((given.to_owned(), value))
}

/// Whether a variable of this name can be set; else why not.
fn check_name(name: &OsStr) -> Result<(), String> {
    let blank = |byte: &u8| byte.is_ascii_whitespace() || byte.is_ascii_control();
    if name.is_empty() {
        return Err("the name of the variable is missing".to_owned());
    }
    if name.as_bytes().iter().any(blank) {
        let why =
            "the name of a variable has no blanks: write NAME=VALUE, without any before the =";
        return Err(why.to_owned());
    }
    match OWN.iter().find(|own| name == **own) {
        Some(own) => Err(format!("{own} is set by Kennel itself, to tell the agent its session")),
        None => Ok(()),
    }
}

fn split(text: &[u8]) -> Option<(OsString, OsString)> {
    let at = text.iter().position(|byte| *byte == b'=')?;
    let (name, value) = (&text[..at], &text[at + 1..]);
    Some((OsString::from_vec(name.to_vec()), OsString::from_vec(value.to_vec())))
}

/// Lines of `NAME=VALUE`, with or without `export` before them, and values taken as they are; empty lines and those that start with `#` are skipped.
fn parse_file(text: &[u8], file: &Path) -> anyhow::Result<Vec<(OsString, OsString)>> {
    let mut variables = Vec::new();
    for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.trim_ascii().is_empty() || line.trim_ascii_start().starts_with(b"#") {
            continue;
        }
        let bare = line.strip_prefix(b"export ").map_or(line, <[u8]>::trim_ascii_start);
        let place = || format!("--env-file {}: line {}", file.display(), number + 1);
        match split(bare) {
            Some((name, value)) if !name.is_empty() => {
                check_name(&name).map_err(|why| anyhow!("{}: {why}", place()))?;
                variables.push((name, value));
            }
            // The line itself may be a secret, so it is not shown.
            _ => bail!("{} is not NAME=VALUE", place()),
        }
    }
    Ok(variables)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_variables_is_taken_as_it_is() {
        let text = b"# comment\n\nA=1\nB= two words \nC=a=b\r\nD=\"q\"\nexport  E=e\nexport=f";
        let variables = parse_file(text, Path::new("f")).unwrap();
        let expected = [
            ("A", "1"),
            ("B", " two words "),
            ("C", "a=b"),
            ("D", "\"q\""),
            ("E", "e"),
            ("export", "f"),
        ];
        assert_eq!(variables, expected.map(|(n, v)| (n.into(), v.into())));
    }

    #[test]
    fn a_bad_line_is_named_by_number_and_never_shown() {
        let error = parse_file(b"A=1\nsecret", Path::new("f")).unwrap_err().to_string();
        assert_eq!(error, "--env-file f: line 2 is not NAME=VALUE");
        let error = parse_file(b"A=1\nsecret = 2", Path::new("f")).unwrap_err().to_string();
        assert!(error.starts_with("--env-file f: line 2: the name"), "{error}");
        assert!(!error.contains("secret"), "{error}");
        let error = parse_file(b"\nKENNEL_HOME=/x", Path::new("f")).unwrap_err().to_string();
        assert!(error.starts_with("--env-file f: line 2: KENNEL_HOME is set by Kennel"), "{error}");
    }

    #[test]
    fn limits_and_umask_are_ours() {
        let limits = limits();
        assert_eq!(limits.len(), 16);
        let descriptors = rustix::process::getrlimit(Resource::Nofile).current;
        assert!(limits.contains(&(7, descriptors.unwrap_or(u64::MAX), limits[7].2)));
        assert_eq!(umask(), umask());
    }

    #[test]
    fn the_last_word_on_a_variable_wins_and_its_place_stays() {
        let mut variables = EnvVariables::default();
        for (name, value) in [("A", "1"), ("B", "2"), ("A", "3")] {
            variables.set(name.into(), value.into());
        }
        assert_eq!(variables.0, [("A", "3"), ("B", "2")].map(|(n, v)| (n.into(), v.into())));
        variables.remove("A");
        assert_eq!(variables.0.len(), 1);
    }

    #[test]
    fn a_name_alone_must_be_set_here() {
        let error = variable("KENNEL_NO_SUCH_VARIABLE".as_ref()).unwrap_err().to_string();
        assert!(error.contains("KENNEL_NO_SUCH_VARIABLE") && error.contains("not set"), "{error}");
        assert!(variable("=x".as_ref()).is_err());
        for (given, told) in [
            ("A B=secret", "--env A B: the name of a variable has no blanks"),
            ("A\t=secret", "the name of a variable has no blanks"),
            ("KENNEL_TOKEN=secret", "--env KENNEL_TOKEN: KENNEL_TOKEN is set by Kennel"),
            ("KENNEL_SESSION_ID=secret", "is set by Kennel"),
            ("KENNEL_HOME", "is set by Kennel"),
        ] {
            let error = variable(given.as_ref()).unwrap_err().to_string();
            assert!(error.contains(told) && !error.contains("secret"), "{error}");
        }
        assert_eq!(variable("A=b=c".as_ref()).unwrap(), ("A".into(), "b=c".into()));
    }
}
