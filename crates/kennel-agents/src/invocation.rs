//! What is started.

use std::fmt::Display;

/// A program, what it is given, and what is set in its environment.
///
/// The prompt is no part of it: it goes in by standard input, which has to end after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// The program, to be found in the client's `PATH`, and its arguments.
    pub argv: Vec<String>,
    /// Variables to be set unless the user has set them: retries of the program's own are kept short, for
    /// Kennel's would multiply them.
    pub env: Vec<(String, String)>,
}

impl Invocation {
    /// The program, with no arguments.
    pub(crate) fn of(program: &str) -> Self {
        Self { argv: vec![program.to_owned()], env: Vec::new() }
    }

    /// With these arguments behind the others.
    #[must_use]
    pub(crate) fn args<A: AsRef<str>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.argv.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// With this flag and its value, if there is one.
    #[must_use]
    pub(crate) fn flag(self, flag: &str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.args([flag, &value.to_string()]),
            None => self,
        }
    }

    /// With this variable.
    #[must_use]
    pub(crate) fn set(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }
}
