//! Whether a session may start now, must wait in line, or is refused.

use std::fmt;

use kennel_types::{Phase, StartedBy};
use serde::{Deserialize, Serialize};

use crate::session::Session;

/// How many there may be at once. None: any number.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Caps {
    /// That have a process, or are about to.
    pub live: Option<u32>,
    /// That are being launched.
    pub launching: Option<u32>,
    /// With such names.
    pub names: Vec<NameCap>,
}

/// How many with such a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameCap {
    /// What the name looks like.
    pub pattern: Pattern,
    /// So many at most.
    pub most: u32,
}

/// A name in which `*` stands for any characters, and `?` for any one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pattern(pub String);

impl Pattern {
    /// Whether a name looks like this.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let (pattern, name): (Vec<char>, Vec<char>) =
            (self.0.chars().collect(), name.chars().collect());
        let (mut at, mut in_name) = (0, 0);
        // Where the last star is, and how far it reaches so far.
        let mut star = None;
        while in_name < name.len() {
            match pattern.get(at) {
                Some('*') => {
                    star = Some((at, in_name));
                    at += 1;
                }
                Some(wanted) if *wanted == '?' || *wanted == name[in_name] => {
                    at += 1;
                    in_name += 1;
                }
                _ => {
                    let Some((star_at, reached)) = star else { return false };
                    star = Some((star_at, reached + 1));
                    at = star_at + 1;
                    in_name = reached + 1;
                }
            }
        }
        pattern[at..].iter().all(|rest| *rest == '*')
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How many there are, as far as caps ask for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionCounts {
    live: u32,
    launching: u32,
    /// For each of the caps by name.
    names: Vec<u32>,
    /// How many wait in line that could not start now.
    queued: usize,
}

impl SessionCounts {
    /// Nobody.
    #[must_use]
    pub fn empty(caps: &Caps) -> Self {
        Self { live: 0, launching: 0, names: vec![0; caps.names.len()], queued: 0 }
    }

    /// Counts one that may have a process, or will: not one in line, nor one that was seen to end. One that a user
    /// started runs whatever the caps are: it takes nobody's place.
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

    /// Counts one that is launched now.
    pub(crate) fn add(&mut self, caps: &Caps, name: Option<&str>) {
        self.live += 1;
        self.launching += 1;
        for (count, cap) in self.names.iter_mut().zip(&caps.names) {
            *count += u32::from(name.is_some_and(|name| cap.pattern.matches(name)));
        }
    }

    /// Counts one that stays in line.
    pub(crate) fn wait(&mut self) {
        self.queued += 1;
    }

    /// How many are ahead of a newcomer in line.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.queued
    }
}

/// Who wants to start.
#[derive(Debug, Clone, Copy)]
pub struct Applicant<'a> {
    /// The session's name.
    pub name: Option<&'a str>,
    /// Whether it would wait in line.
    pub may_queue: bool,
}

/// What becomes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Admission {
    /// It may start.
    Admit,
    /// It waits.
    Queue {
        /// 1: it is next.
        place: usize,
        /// What for.
        over: LimitReached,
    },
    /// It may not.
    Refuse(LimitReached),
}

/// `1 session is live`, `2 sessions are live`.
fn are(figure: u32, which: &str, what: &str) -> String {
    match figure {
        1 => format!("1 session{which} is {what}"),
        _ => format!("{figure} sessions{which} are {what}"),
    }
}

/// Which cap is reached: the figure, and the limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LimitReached {
    /// All.
    #[error("{}, and the limit is {limit}", are(*figure, "", "live"))]
    Live {
        /// How many there are.
        figure: u32,
        /// How many there may be.
        limit: u32,
    },
    /// Launches.
    #[error("{}, and the limit is {limit} at once", are(*figure, "", "being launched"))]
    Launching {
        /// How many there are.
        figure: u32,
        /// How many there may be.
        limit: u32,
    },
    /// Those with such a name.
    #[error("{}, and the limit is {limit}", are(*figure, &format!(" with a name like {pattern:?}"), "live"))]
    Name {
        /// What the name looks like.
        pattern: String,
        /// How many there are.
        figure: u32,
        /// How many there may be.
        limit: u32,
    },
}

/// Decides. The census has those who are in line already, and could start, among the launched: see
/// [`crate::World::census`].
pub fn decide(caps: &Caps, census: &SessionCounts, applicant: Applicant<'_>) -> Admission {
    match over(caps, census, applicant.name) {
        None => Admission::Admit,
        Some(over) if applicant.may_queue => Admission::Queue { place: census.queued + 1, over },
        Some(over) => Admission::Refuse(over),
    }
}

/// Which cap one more would go over.
pub(crate) fn over(
    caps: &Caps,
    census: &SessionCounts,
    name: Option<&str>,
) -> Option<LimitReached> {
    if let Some(limit) = caps.live.filter(|limit| census.live >= *limit) {
        return Some(LimitReached::Live { figure: census.live, limit });
    }
    if let Some(limit) = caps.launching.filter(|limit| census.launching >= *limit) {
        return Some(LimitReached::Launching { figure: census.launching, limit });
    }
    let full = |(cap, figure): (&NameCap, &u32)| {
        let reached = *figure >= cap.most && name.is_some_and(|name| cap.pattern.matches(name));
        let pattern = cap.pattern.0.clone();
        reached.then_some(LimitReached::Name { pattern, figure: *figure, limit: cap.most })
    };
    caps.names.iter().zip(&census.names).find_map(full)
}

#[cfg(test)]
mod tests;
