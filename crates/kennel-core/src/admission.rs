//! Whether a session may start now, is queued, or is refused.

use std::fmt;

use kennel_types::{Phase, StartedBy};
use serde::{Deserialize, Serialize};

use crate::session::Session;

/// The limits on concurrent sessions. `None`: no limit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Caps {
    /// Sessions that have a process, or are about to.
    pub live: Option<u32>,
    pub launching: Option<u32>,
    /// Limits for sessions with certain names.
    pub names: Vec<NameCap>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameCap {
    pub pattern: Pattern,
    pub most: u32,
}

/// A pattern in which `*` stands for any characters and `?` for exactly one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pattern(pub String);

impl Pattern {
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        wildmatch::WildMatch::new(&self.0).matches(name)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The current number of sessions, by the limits that apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionCounts {
    live: u32,
    launching: u32,
    /// One number for each limit on names.
    names: Vec<u32>,
    /// Queued sessions that could not start now.
    queued: usize,
}

impl SessionCounts {
    #[must_use]
    pub fn empty(caps: &Caps) -> Self {
        Self { live: 0, launching: 0, names: vec![0; caps.names.len()], queued: 0 }
    }

    /// Counts a session that may have a process or will: not a queued or ended one. An adopted
    /// process runs regardless of the limits and does not count.
    pub fn count(&mut self, caps: &Caps, session: &Session) {
        let ours = session.started_by == StartedBy::Kennel;
        if !ours || session.phase == Phase::Queued || session.has_ended() {
            return;
        }
        self.add(caps, session.spec.name.as_deref());
        if session.phase >= Phase::Running {
            self.launching -= 1;
        }
    }

    /// Counts a session that is launched now.
    pub(crate) fn add(&mut self, caps: &Caps, name: Option<&str>) {
        self.live += 1;
        self.launching += 1;
        for (count, cap) in self.names.iter_mut().zip(&caps.names) {
            *count += u32::from(name.is_some_and(|name| cap.pattern.matches(name)));
        }
    }

    /// Counts a session that stays queued.
    pub(crate) fn wait(&mut self) {
        self.queued += 1;
    }

    /// Returns the number of sessions ahead of a new one in the queue.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.queued
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Applicant<'a> {
    pub name: Option<&'a str>,
    pub may_queue: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Admission {
    Admit,
    Queue {
        /// The position in the queue. 1 is next.
        position: usize,
        /// The limit that it waits for.
        over: LimitReached,
    },
    Refuse(LimitReached),
}

/// Formats for example `1 session is live` or `2 sessions are live`.
fn count_text(count: u32, which: &str, what: &str) -> String {
    match count {
        1 => format!("1 session{which} is {what}"),
        _ => format!("{count} sessions{which} are {what}"),
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LimitReached {
    #[error("{}, and the limit is {limit}", count_text(*count, "", "live"))]
    Live { count: u32, limit: u32 },
    #[error("{}, and the limit is {limit} at once", count_text(*count, "", "being launched"))]
    Launching { count: u32, limit: u32 },
    #[error("{}, and the limit is {limit}", count_text(*count, &format!(" with a name like {pattern:?}"), "live"))]
    Name { pattern: String, count: u32, limit: u32 },
}

/// Decides whether a session may start. `counts` includes queued sessions that could start now
/// as launched: see [`crate::World::session_counts`].
pub fn decide(caps: &Caps, counts: &SessionCounts, applicant: Applicant<'_>) -> Admission {
    match exceeded_limit(caps, counts, applicant.name) {
        None => Admission::Admit,
        Some(over) if applicant.may_queue => Admission::Queue { position: counts.queued + 1, over },
        Some(over) => Admission::Refuse(over),
    }
}

/// Returns the limit that one more session would exceed.
pub(crate) fn exceeded_limit(
    caps: &Caps,
    counts: &SessionCounts,
    name: Option<&str>,
) -> Option<LimitReached> {
    if let Some(limit) = caps.live.filter(|limit| counts.live >= *limit) {
        return Some(LimitReached::Live { count: counts.live, limit });
    }
    if let Some(limit) = caps.launching.filter(|limit| counts.launching >= *limit) {
        return Some(LimitReached::Launching { count: counts.launching, limit });
    }
    let full = |(cap, count): (&NameCap, &u32)| {
        let reached = *count >= cap.most && name.is_some_and(|name| cap.pattern.matches(name));
        let pattern = cap.pattern.0.clone();
        reached.then_some(LimitReached::Name { pattern, count: *count, limit: cap.most })
    };
    caps.names.iter().zip(&counts.names).find_map(full)
}

#[cfg(test)]
mod tests;
