//! What certain words, or a code, say about a prompt.

use kennel_types::{EvidenceSource, VerdictKind};
use regex::Regex;
use serde::Deserialize;

use super::DescriptionError;
use crate::judge::End;
use crate::reader::Streams;

/// A rule as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleText {
    kind: VerdictKind,
    stream: Option<StreamName>,
    contains: Option<String>,
    matches: Option<String>,
    exit: Option<i32>,
}

#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum StreamName {
    Stdout,
    Stderr,
}

/// A rule: if all of it holds, that is the verdict.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) kind: VerdictKind,
    stream: Option<StreamName>,
    words: Option<Words>,
    exit: Option<i32>,
}

#[derive(Debug)]
enum Words {
    Contains(String),
    Matches(Regex),
}

/// By what a rule holds.
pub(super) struct Held {
    pub(super) source: EvidenceSource,
    pub(super) text: String,
}

impl Rule {
    pub(super) fn check(number: usize, rule: RuleText) -> Result<Self, DescriptionError> {
        use VerdictKind as Kind;
        if matches!(rule.kind, Kind::Cancelled | Kind::TimedOut | Kind::Killed) {
            return Err(DescriptionError::NotForRules { number, kind: rule.kind.name() });
        }
        let words = match (rule.contains, rule.matches) {
            (Some(_), Some(_)) => return Err(DescriptionError::TwoTexts { number }),
            (Some(text), None) => Some(Words::Contains(text)),
            (None, Some(pattern)) => {
                Some(Words::Matches(Regex::new(&pattern).map_err(|error| {
                    let place = format!("verdict {number}");
                    DescriptionError::Pattern { place, pattern, why: error.to_string() }
                })?))
            }
            (None, None) if rule.exit.is_none() => {
                return Err(DescriptionError::EmptyRule { number });
            }
            (None, None) => None,
        };
        Ok(Self { kind: rule.kind, stream: rule.stream, words, exit: rule.exit })
    }

    /// Whether it holds.
    pub(super) fn holds(&self, streams: &Streams<'_>, end: &End) -> Option<Held> {
        if self.exit.is_some_and(|code| *end != End::Exited(code)) {
            return None;
        }
        let Some(words) = &self.words else {
            return Some(Held { source: EvidenceSource::Exit, text: end.to_string() });
        };
        let all = [
            (StreamName::Stderr, EvidenceSource::Stderr, streams.stderr),
            (StreamName::Stdout, EvidenceSource::Stdout, streams.stdout),
        ];
        let meant = |name| self.stream.is_none_or(|stream| stream == name);
        all.into_iter().filter(|(name, ..)| meant(*name)).find_map(|(_, source, text)| {
            let line = text.lines().find(|line| words.hold(line))?;
            Some(Held { source, text: line.trim().to_owned() })
        })
    }
}

impl Words {
    fn hold(&self, line: &str) -> bool {
        match self {
            Self::Contains(text) => line.contains(text),
            Self::Matches(pattern) => pattern.is_match(line),
        }
    }
}
