//! Who is let in: tokens, and browsers that came by a link. Pure: files are the [`store`](super::store)'s business.

use kennel_types::api::{Scope, TokenKind};

use super::secret::{Secret, Sum};

/// How the token in the file is called.
pub(super) const MAIN: &str = "main";
/// The most extra tokens.
const MOST_EXTRA: usize = 100;
/// The most browsers; one more logs out the one that came first.
const MOST_BROWSERS: usize = 16;
/// How long a browser is let in.
pub(super) const BROWSER_MS: u64 = 7 * 24 * 3600 * 1000;
/// The longest name.
const LONGEST_NAME: usize = 40;

/// An entry, for as long as its secret is the same: another secret is another entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EntryId(u64);

/// Someone who is let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) id: EntryId,
    pub(super) name: String,
    pub(super) kind: TokenKind,
    pub(super) scope: Scope,
    pub(super) sum: Sum,
    pub(super) made_ms: Option<u64>,
    pub(super) expires_ms: Option<u64>,
}

/// How a secret was presented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presented {
    /// By a program, in `Authorization`.
    Bearer,
    /// By a browser, in a cookie.
    Cookie,
}

/// Why the roll is not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum RollError {
    #[error("there is no token {0:?}")]
    Unknown(String),
    #[error("there is a token {0:?} already")]
    Taken(String),
    #[error("{0:?} is no name for a token: letters, digits, - _ . and at most 40 of them")]
    BadName(String),
    #[error("there are {MOST_EXTRA} tokens already")]
    Full,
    #[error("the main token can't be revoked, only rotated")]
    MainStays,
    #[error("a browser's secret is not rotated, only revoked")]
    Browser,
}

/// All who are let in.
#[derive(Debug, Clone, Default)]
pub(super) struct Roll {
    entries: Vec<Entry>,
    next: u64,
}

/// What is to be made.
#[derive(Debug)]
pub(super) struct New<'a> {
    pub(super) name: Option<String>,
    pub(super) kind: TokenKind,
    pub(super) scope: Scope,
    pub(super) secret: &'a Secret,
    pub(super) now_ms: u64,
}

impl Roll {
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Takes an entry in as it was written down.
    pub(super) fn restore(&mut self, entry: impl FnOnce(EntryId) -> Entry) {
        let id = self.new_id();
        self.entries.push(entry(id));
    }

    fn new_id(&mut self) -> EntryId {
        self.next += 1;
        EntryId(self.next)
    }

    /// Whose secret has this sum. Every entry is looked at, whichever it is.
    pub(super) fn find(&self, sum: &Sum, how: Presented, now_ms: u64) -> Option<&Entry> {
        let mut found = None;
        for entry in &self.entries {
            let fits = (entry.kind == TokenKind::Browser) == (how == Presented::Cookie);
            if entry.sum == *sum && fits && !is_over(entry, now_ms) {
                found = Some(entry);
            }
        }
        found
    }

    /// Whether it still counts.
    pub(super) fn holds(&self, id: EntryId) -> bool {
        self.entries.iter().any(|entry| entry.id == id)
    }

    /// The main token is this one from now on; gives whoever is out by that: the former one, and every browser.
    pub(super) fn set_main(&mut self, secret: &Secret, made_ms: Option<u64>) -> Vec<EntryId> {
        let out = self.put_out(|entry| matches!(entry.kind, TokenKind::Main | TokenKind::Browser));
        let id = self.new_id();
        let entry = Entry {
            id,
            name: MAIN.to_owned(),
            kind: TokenKind::Main,
            scope: Scope::Full,
            sum: secret.sum(),
            made_ms,
            expires_ms: None,
        };
        self.entries.insert(0, entry);
        out
    }

    /// The sum of the main token, if there is one.
    pub(super) fn main(&self) -> Option<Sum> {
        self.entries.iter().find(|entry| entry.kind == TokenKind::Main).map(|entry| entry.sum)
    }

    /// Lets one more in; gives it, and who is out for it.
    pub(super) fn add(&mut self, new: New<'_>) -> Result<(Entry, Vec<EntryId>), RollError> {
        let mut out = self.put_out(|entry| is_over(entry, new.now_ms));
        let of_kind = self.entries.iter().filter(|entry| entry.kind == new.kind);
        match (new.kind, of_kind.count()) {
            (TokenKind::Browser, MOST_BROWSERS..) => {
                let is_browser = |entry: &&Entry| entry.kind == TokenKind::Browser;
                let oldest = self.entries.iter().filter(is_browser).min_by_key(|e| e.made_ms);
                let oldest = oldest.map(|entry| entry.id);
                out.extend(self.put_out(|entry| Some(entry.id) == oldest));
            }
            (TokenKind::Extra, MOST_EXTRA..) => return Err(RollError::Full),
            _ => {}
        }
        let name = match new.name {
            Some(name) => self.check_name(name)?,
            None => {
                self.free_name(if new.kind == TokenKind::Browser { "browser" } else { "token" })
            }
        };
        let expires_ms = (new.kind == TokenKind::Browser).then(|| new.now_ms + BROWSER_MS);
        let entry = Entry {
            id: self.new_id(),
            name,
            kind: new.kind,
            scope: new.scope,
            sum: new.secret.sum(),
            made_ms: Some(new.now_ms),
            expires_ms,
        };
        self.entries.push(entry.clone());
        Ok((entry, out))
    }

    /// Gives an extra token another secret.
    pub(super) fn rotate(
        &mut self,
        name: &str,
        secret: &Secret,
        now_ms: u64,
    ) -> Result<(Entry, EntryId), RollError> {
        let id = self.new_id();
        let entry = self.entries.iter_mut().find(|entry| entry.name == name);
        let entry = entry.ok_or_else(|| RollError::Unknown(name.to_owned()))?;
        if entry.kind == TokenKind::Browser {
            return Err(RollError::Browser);
        }
        let former = std::mem::replace(&mut entry.id, id);
        entry.sum = secret.sum();
        entry.made_ms = Some(now_ms);
        Ok((entry.clone(), former))
    }

    /// Lets one in no more.
    pub(super) fn revoke(&mut self, name: &str) -> Result<EntryId, RollError> {
        let at = self.entries.iter().position(|entry| entry.name == name);
        let at = at.ok_or_else(|| RollError::Unknown(name.to_owned()))?;
        if self.entries[at].kind == TokenKind::Main {
            return Err(RollError::MainStays);
        }
        Ok(self.entries.remove(at).id)
    }

    /// Lets this one in no more; it may be out already.
    pub(super) fn remove(&mut self, id: EntryId) {
        self.entries.retain(|entry| entry.id != id);
    }

    fn put_out(&mut self, is_out: impl Fn(&Entry) -> bool) -> Vec<EntryId> {
        self.entries.extract_if(.., |entry| is_out(entry)).map(|entry| entry.id).collect()
    }

    fn check_name(&self, name: String) -> Result<String, RollError> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let good = !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(allowed);
        // A name that is the beginning of every path is none.
        if !good || name.chars().all(|c| c == '.') {
            return Err(RollError::BadName(name));
        }
        if name == MAIN || self.entries.iter().any(|entry| entry.name == name) {
            return Err(RollError::Taken(name));
        }
        Ok(name)
    }

    fn free_name(&self, stem: &str) -> String {
        let mut names = (1_u64..).map(|number| format!("{stem}-{number}"));
        let free = names.find(|name| self.entries.iter().all(|entry| entry.name != *name));
        free.unwrap_or_else(|| stem.to_owned())
    }
}

fn is_over(entry: &Entry, now_ms: u64) -> bool {
    entry.expires_ms.is_some_and(|at| now_ms >= at)
}

/// Somebody who came over TCP, for tests.
#[cfg(test)]
pub(super) fn tests_entry(scope: Scope) -> super::Identity {
    super::Identity {
        scope,
        via: super::identity::Via::Tcp {
            id: EntryId(7),
            kind: TokenKind::Extra,
            name: "x".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret() -> Secret {
        Secret::random().unwrap()
    }

    fn new(kind: TokenKind, secret: &Secret) -> New<'_> {
        New { name: None, kind, scope: Scope::ReadOnly, secret, now_ms: 1000 }
    }

    fn named<'a>(name: &str, secret: &'a Secret) -> New<'a> {
        New { name: Some(name.to_owned()), ..new(TokenKind::Extra, secret) }
    }

    #[test]
    fn a_secret_counts_only_as_what_it_was_made_for() {
        let mut roll = Roll::default();
        let (main, extra, browser) = (secret(), secret(), secret());
        roll.set_main(&main, None);
        roll.add(new(TokenKind::Extra, &extra)).unwrap();
        roll.add(new(TokenKind::Browser, &browser)).unwrap();
        let scope = |secret: &Secret, how| roll.find(&secret.sum(), how, 2000).map(|it| it.scope);
        assert_eq!(scope(&main, Presented::Bearer), Some(Scope::Full));
        assert_eq!(scope(&extra, Presented::Bearer), Some(Scope::ReadOnly));
        assert_eq!(scope(&browser, Presented::Cookie), Some(Scope::ReadOnly));
        assert_eq!(scope(&main, Presented::Cookie), None);
        assert_eq!(scope(&browser, Presented::Bearer), None);
        assert_eq!(scope(&secret(), Presented::Bearer), None);
    }

    #[test]
    fn another_main_token_puts_the_former_and_every_browser_out() {
        let mut roll = Roll::default();
        let (old, new_one, extra, browser) = (secret(), secret(), secret(), secret());
        roll.set_main(&old, None);
        let (kept, _) = roll.add(new(TokenKind::Extra, &extra)).unwrap();
        let (out, _) = roll.add(new(TokenKind::Browser, &browser)).unwrap();
        let gone = roll.set_main(&new_one, Some(5));
        assert!(gone.contains(&out.id) && gone.len() == 2 && roll.holds(kept.id));
        assert!(roll.find(&old.sum(), Presented::Bearer, 0).is_none());
        assert!(roll.find(&new_one.sum(), Presented::Bearer, 0).is_some());
    }

    #[test]
    fn a_rotated_token_is_another_entry_of_the_same_name() {
        let mut roll = Roll::default();
        let (old, fresh) = (secret(), secret());
        let (entry, _) = roll.add(named("ci", &old)).unwrap();
        let (after, former) = roll.rotate("ci", &fresh, 9).unwrap();
        assert_eq!((former, after.name.as_str()), (entry.id, "ci"));
        assert!(!roll.holds(former) && roll.holds(after.id));
        assert!(roll.find(&old.sum(), Presented::Bearer, 0).is_none());
        assert_eq!(roll.rotate("no", &fresh, 9).unwrap_err(), RollError::Unknown("no".into()));
    }

    #[test]
    fn the_main_token_stays_and_others_can_be_revoked() {
        let mut roll = Roll::default();
        let (main, extra) = (secret(), secret());
        roll.set_main(&main, None);
        let (entry, _) = roll.add(named("ci", &extra)).unwrap();
        assert_eq!(roll.revoke(MAIN), Err(RollError::MainStays));
        assert_eq!(roll.revoke("ci"), Ok(entry.id));
        assert_eq!(roll.revoke("ci"), Err(RollError::Unknown("ci".into())));
    }

    #[test]
    fn names_are_plain_and_each_is_there_once() {
        let mut roll = Roll::default();
        let secret = secret();
        roll.add(named("ci", &secret)).unwrap();
        for (name, taken) in
            [("ci", true), (MAIN, true), ("", false), ("a b", false), ("..", false)]
        {
            let error = roll.add(named(name, &secret)).unwrap_err();
            assert_eq!(matches!(error, RollError::Taken(_)), taken, "{name:?}: {error}");
        }
        assert!(roll.add(named(&"x".repeat(41), &secret)).is_err());
        assert_eq!(roll.add(new(TokenKind::Extra, &secret)).unwrap().0.name, "token-1");
        assert_eq!(roll.add(new(TokenKind::Extra, &secret)).unwrap().0.name, "token-2");
    }

    #[test]
    fn there_are_so_many_and_no_more() {
        let mut roll = Roll::default();
        let secret = secret();
        for _ in 0..MOST_EXTRA {
            roll.add(new(TokenKind::Extra, &secret)).unwrap();
        }
        assert_eq!(roll.add(new(TokenKind::Extra, &secret)).unwrap_err(), RollError::Full);
        let browser = |now_ms| New { now_ms, ..new(TokenKind::Browser, &secret) };
        let (first, _) = roll.add(browser(1)).unwrap();
        for now in 2..=MOST_BROWSERS as u64 {
            assert_eq!(roll.add(browser(now)).unwrap().1, []);
        }
        assert_eq!(roll.add(browser(99)).unwrap().1, [first.id], "the oldest makes room");
    }

    #[test]
    fn a_browser_is_let_in_for_a_week() {
        let mut roll = Roll::default();
        let secret = secret();
        let (entry, _) = roll.add(new(TokenKind::Browser, &secret)).unwrap();
        let end = 1000 + BROWSER_MS;
        assert!(roll.find(&secret.sum(), Presented::Cookie, end - 1).is_some());
        assert!(roll.find(&secret.sum(), Presented::Cookie, end).is_none());
        let later = New { now_ms: end, ..new(TokenKind::Browser, &secret) };
        assert_eq!(roll.add(later).unwrap().1, [entry.id], "it is forgotten then");
    }
}
