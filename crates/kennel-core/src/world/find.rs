//! Which session is meant by what a person typed.

use std::fmt;

use crate::id::SessionId;

use super::World;

/// How many candidates or suggestions are named.
const NAMED: usize = 5;

/// No session is meant, or several may be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    /// There is none.
    #[error("there is no session {reference:?}{}", DidYouMean(.near))]
    NotFound {
        /// What was asked for.
        reference: String,
        /// Names and ids that look like it, the likeliest first.
        near: Vec<String>,
    },
    /// It is the beginning of several ids.
    #[error("{reference:?} may be {}", Listed(.candidates))]
    Ambiguous {
        /// What was asked for.
        reference: String,
        /// All of them, the oldest first.
        candidates: Vec<SessionId>,
    },
}

struct DidYouMean<'a>(&'a [String]);

impl fmt::Display for DidYouMean<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            Ok(())
        } else {
            write!(f, "; did you mean {}?", self.0.join(" or "))
        }
    }
}

struct Listed<'a>(&'a [SessionId]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named: Vec<_> = self.0.iter().take(NAMED).map(SessionId::as_str).collect();
        f.write_str(&named.join(" or "))?;
        match self.0.len().saturating_sub(NAMED) {
            0 => Ok(()),
            more => write!(f, ", or one of {more} more"),
        }
    }
}

impl World {
    /// The session with this id, or name, or whose id alone begins so. Of several with a name the live one is
    /// meant, else the latest.
    ///
    /// # Errors
    /// There is none, or there are several.
    pub fn find(&self, reference: &str) -> Result<&SessionId, FindError> {
        let exact =
            SessionId::parse(reference).ok().and_then(|id| self.sessions.get_key_value(&id));
        if let Some((id, _)) = exact {
            return Ok(id);
        }
        if let Some(id) = self.live_by_name(reference).or_else(|| self.latest_by_name(reference)) {
            return Ok(id);
        }
        let candidates = self.beginning_with(reference);
        match candidates[..] {
            [id] => Ok(id),
            [] => Err(FindError::NotFound {
                reference: reference.to_owned(),
                near: self.near(reference),
            }),
            _ => Err(FindError::Ambiguous {
                reference: reference.to_owned(),
                candidates: candidates.into_iter().cloned().collect(),
            }),
        }
    }

    pub(super) fn live_by_name(&self, name: &str) -> Option<&SessionId> {
        let mut ids = self.names.get(name)?.iter().rev();
        ids.find(|id| self.sessions.get(id).is_some_and(|session| session.is_live()))
    }

    fn latest_by_name(&self, name: &str) -> Option<&SessionId> {
        self.names.get(name)?.last()
    }

    fn beginning_with(&self, prefix: &str) -> Vec<&SessionId> {
        // Nothing is the beginning of everything, and means nobody.
        let ids =
            self.sessions.keys().filter(|id| !prefix.is_empty() && id.as_str().starts_with(prefix));
        ids.collect()
    }

    fn near(&self, reference: &str) -> Vec<String> {
        let length = reference.chars().count();
        // A slip a third of the word, so that a short one is not like everything.
        let most = (length / 3).clamp(1, 4);
        let mut near: Vec<(usize, &str)> = Vec::new();
        let names = self.names.keys().map(String::as_str);
        // What was meant as an id may be its beginning.
        let ids = self.sessions.keys().map(SessionId::as_str);
        for (word, compared) in
            names.map(|name| (name, name)).chain(ids.map(|id| (id, beginning(id, length))))
        {
            let distance = distance(reference, compared);
            if distance <= most && length > 1 {
                near.push((distance, word));
            }
        }
        near.sort();
        near.into_iter().take(NAMED).map(|(_, word)| word.to_owned()).collect()
    }
}

fn beginning(id: &str, length: usize) -> &str {
    id.get(..length).unwrap_or(id)
}

/// How many letters must be put in, left out, changed or swapped with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, to) in b.iter().enumerate() {
            let changed = last[j] + usize::from(from != to);
            let mut least = changed.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *from == b[j - 1] && a[i - 1] == *to {
                least = least.min(before_last[j - 1] + 1);
            }
            row.push(least);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn a_slip_of_the_finger_is_one() {
        for (a, b, wanted) in [
            ("claude", "claude", 0),
            ("cluade", "claude", 1),
            ("claud", "claude", 1),
            ("clayde", "claude", 1),
            ("", "abc", 3),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!((distance(a, b), distance(b, a)), (wanted, wanted), "{a} {b}");
        }
    }
}
