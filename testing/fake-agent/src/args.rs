//! The arguments of a behaviour, taken one after the other.
//!
//! They are parsed by hand, because the forms are simple and this program must start quickly and
//! without threads: it is started thousands of times and forks.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use crate::failure::Failure;
use crate::presence::MAX_LIFETIME;

/// What follows the name of a behaviour on the command line.
pub(crate) struct Args {
    behaviour: &'static str,
    form: &'static str,
    rest: VecDeque<OsString>,
}

impl Args {
    /// The arguments of `behaviour`, whose usage shows `form`.
    pub(crate) fn new(behaviour: &'static str, form: &'static str, rest: Vec<OsString>) -> Self {
        Self { behaviour, form, rest: rest.into() }
    }

    /// The next argument, if there is one.
    pub(crate) fn optional(&mut self) -> Option<OsString> {
        self.rest.pop_front()
    }

    /// The next argument, which must be there.
    pub(crate) fn text(&mut self, what: &str) -> Result<OsString, Failure> {
        let next = self.rest.pop_front();
        next.ok_or_else(|| self.wrong(format_args!("{what} is missing")))
    }

    /// A path, which must be there and not be empty.
    pub(crate) fn path(&mut self, what: &str) -> Result<PathBuf, Failure> {
        let text = self.text(what)?;
        if text.is_empty() {
            return Err(self.wrong(format_args!("{what} is empty")));
        }
        Ok(PathBuf::from(text))
    }

    /// A whole number, which must be there.
    pub(crate) fn number<T: FromStr>(&mut self, what: &str) -> Result<T, Failure> {
        let text = self.text(what)?;
        self.parse(what, &text)
    }

    /// A whole number, or `default` if there is no argument left.
    pub(crate) fn number_or<T: FromStr>(&mut self, what: &str, default: T) -> Result<T, Failure> {
        match self.optional() {
            Some(text) => self.parse(what, &text),
            None => Ok(default),
        }
    }

    /// A time in seconds, which may have a fraction and must be there.
    pub(crate) fn seconds(&mut self, what: &str) -> Result<Duration, Failure> {
        let text = self.text(what)?;
        self.parse_seconds(what, &text)
    }

    /// A time in seconds, or the longest that anything may live.
    pub(crate) fn seconds_or_max(&mut self, what: &str) -> Result<Duration, Failure> {
        match self.optional() {
            Some(text) => self.parse_seconds(what, &text),
            None => Ok(MAX_LIFETIME),
        }
    }

    /// Everything that is left.
    pub(crate) fn remaining(&mut self) -> Vec<OsString> {
        self.rest.drain(..).collect()
    }

    /// Refuses surplus arguments, so that a misspelt argument doesn't silently change the
    /// behaviour.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        match self.rest.front() {
            Some(extra) => Err(self.wrong(format_args!("unexpected argument {extra:?}"))),
            None => Ok(()),
        }
    }

    /// Returns an error that shows the usage of this behaviour.
    pub(crate) fn wrong(&self, problem: impl Display) -> Failure {
        Failure::usage(format!(
            "{name}: {problem}; usage: fake-agent {name} {form}",
            name = self.behaviour,
            form = self.form
        ))
    }

    /// A number in a text.
    pub(crate) fn parse<T: FromStr>(&self, what: &str, text: &OsStr) -> Result<T, Failure> {
        let number = text.to_str().and_then(|text| text.parse().ok());
        number.ok_or_else(|| {
            self.wrong(format_args!("invalid {what} {text:?}: expected a whole number in range"))
        })
    }

    fn parse_seconds(&self, what: &str, text: &OsStr) -> Result<Duration, Failure> {
        let seconds: f64 = self.parse(what, text)?;
        match Duration::try_from_secs_f64(seconds) {
            Ok(time) if time <= MAX_LIFETIME => Ok(time),
            _ => Err(self.wrong(format_args!(
                "{what} {text:?} is not between 0 and {}",
                MAX_LIFETIME.as_secs()
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(words: &[&str]) -> Args {
        Args::new("some", "N", words.iter().map(OsString::from).collect())
    }

    #[test]
    fn a_bad_value_is_named() {
        let failure = args(&["12x"]).number::<u32>("N").expect_err("no number");
        assert!(failure.message.contains("12x"), "{}", failure.message);
        let failure = args(&["1e9"]).seconds("SECS").expect_err("too long");
        assert!(failure.message.contains("1e9"), "{}", failure.message);
        let failure = args(&["more"]).finish().expect_err("left over");
        assert!(failure.message.contains("more"), "{}", failure.message);
    }

    #[test]
    fn defaults_fill_in() {
        assert_eq!(args(&[]).number_or("N", 7_u32).expect("default"), 7);
        assert_eq!(args(&[]).seconds_or_max("SECS").expect("default"), MAX_LIFETIME);
        assert_eq!(
            args(&["0.25"]).seconds("SECS").expect("a fraction"),
            Duration::from_millis(250)
        );
    }
}
