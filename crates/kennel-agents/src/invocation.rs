//! The command that starts an agent.

use std::fmt::Display;

/// A program with its arguments and environment.
///
/// The prompt is not part of it: the caller writes it to standard input, and closes that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// The program, which the caller looks up in the client's `PATH`, and its arguments.
    pub argv: Vec<String>,
    /// Variables to set unless the user has set them. They limit the program's own retries, because
    /// Kennel's retries would multiply them.
    pub env: Vec<(String, String)>,
}

impl Invocation {
    pub(crate) fn of(program: &str) -> Self {
        Self { argv: vec![program.to_owned()], env: Vec::new() }
    }

    /// Appends arguments.
    #[must_use]
    pub(crate) fn args<A: AsRef<str>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.argv.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Appends a flag with its value, if there is one.
    #[must_use]
    pub(crate) fn flag(self, flag: &str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.args([flag, &value.to_string()]),
            None => self,
        }
    }

    /// Sets a variable.
    #[must_use]
    pub(crate) fn set(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }
}
