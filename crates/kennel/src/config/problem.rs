//! What is wrong with a configuration, for those who wrote it.

use std::fmt;

use super::layer::FilePosition;

/// Everything that is wrong, in the order in which it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigError(pub(super) Vec<ConfigProblem>);

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConfigProblem {
    pub(super) at: At,
    pub(super) text: String,
}

/// Where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum At {
    /// In a file.
    FilePosition(FilePosition),
    /// In something with a name: a file as a whole, a variable, a flag.
    Whole(String),
}

impl ConfigProblem {
    pub(super) fn at(place: FilePosition, text: impl Into<String>) -> Self {
        Self { at: At::FilePosition(place), text: text.into() }
    }

    pub(super) fn with(whole: impl Into<String>, text: impl Into<String>) -> Self {
        Self { at: At::Whole(whole.into()), text: text.into() }
    }
}

impl From<ConfigProblem> for ConfigError {
    fn from(problem: ConfigProblem) -> Self {
        Self(vec![problem])
    }
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.at {
            At::FilePosition(place) => write!(f, "{place}:{}: {}", place.column, self.text),
            At::Whole(name) => write!(f, "{name}: {}", self.text),
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, problem) in self.0.iter().enumerate() {
            if number > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

/// `; did you mean X?`, if there is an X like it.
pub(super) fn did_you_mean<'a>(
    written: &str,
    known: impl IntoIterator<Item = &'a str>,
    show: impl Fn(&str) -> String,
) -> Option<String> {
    // A slip a third of the word, so that a short one is not like everything.
    let most = (written.chars().count() / 3).clamp(1, 4);
    let distance = |other: &str| strsim::osa_distance(written, other);
    let near = known.into_iter().map(|other| (distance(other), other));
    let (_, nearest) = near.filter(|(distance, _)| *distance <= most).min()?;
    Some(format!("; did you mean {}?", show(nearest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_like_it_is_suggested() {
        let known = ["grace", "linger", "lease", "output_limit"];
        let suggest = |written| did_you_mean(written, known, |word| format!("`{word}`"));
        for (written, meant) in [
            ("grcae", "grace"),
            ("gracee", "grace"),
            ("leas", "lease"),
            ("output-limit", "output_limit"),
            ("outputlimit", "output_limit"),
        ] {
            assert_eq!(suggest(written), Some(format!("; did you mean `{meant}`?")), "{written}");
        }
        for written in ["", "x", "memory", "limit"] {
            assert_eq!(suggest(written), None, "{written}");
        }
    }
}
