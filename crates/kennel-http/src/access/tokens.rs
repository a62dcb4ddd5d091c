//! The tokens that grant access, and the browsers that signed in with a link. Pure:
//! [`token_store`](super::token_store) reads and writes the files.

use kennel_types::api::{Scope, TokenKind};
use serde::{Deserialize, Serialize};

use super::secret::{Secret, SecretHash};

/// The name of the main token, which is in a file of its own.
pub(super) const MAIN: &str = "main";
const MAX_EXTRA: usize = 100;
/// If one more browser signs in, the oldest is signed out.
const MAX_BROWSERS: usize = 16;
pub(super) const BROWSER_MS: u64 = 7 * 24 * 3600 * 1000;
const MAX_NAME: usize = 40;

/// Identifies a token for as long as its secret is the same: a new secret means a new id.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TokenId(u64);

/// A token, as it is also stored in the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TokenEntry {
    #[serde(skip)]
    pub(super) id: TokenId,
    pub(super) name: String,
    pub(super) kind: TokenKind,
    pub(super) scope: Scope,
    #[serde(rename = "sha256")]
    pub(super) hash: SecretHash,
    pub(super) made_ms: Option<u64>,
    pub(super) expires_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CredentialKind {
    /// A program, in `Authorization`.
    Bearer,
    /// A browser, in a cookie.
    Cookie,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum TokenError {
    #[error("unknown token {0:?}")]
    Unknown(String),
    #[error("token {0:?} already exists")]
    NameTaken(String),
    #[error("invalid token name {0:?}: expected at most {MAX_NAME} letters, digits, - _ .")]
    InvalidName(String),
    #[error("too many tokens: the maximum is {MAX_EXTRA}")]
    Full,
    #[error("the main token can't be revoked, only rotated")]
    RevokeMain,
    #[error("the token of a browser can't be rotated, only revoked")]
    RotateBrowser,
}

#[derive(Debug, Clone, Default)]
pub(super) struct TokenTable {
    entries: Vec<TokenEntry>,
    next: u64,
}

#[derive(Debug)]
pub(super) struct NewTokenEntry<'a> {
    pub(super) name: Option<String>,
    pub(super) kind: TokenKind,
    pub(super) scope: Scope,
    pub(super) secret: &'a Secret,
    pub(super) now_ms: u64,
}

impl TokenTable {
    pub(super) fn entries(&self) -> &[TokenEntry] {
        &self.entries
    }

    /// Adds a token that was read from a file.
    pub(super) fn restore(&mut self, entry: TokenEntry) {
        let id = self.new_id();
        self.entries.push(TokenEntry { id, ..entry });
    }

    fn new_id(&mut self) -> TokenId {
        self.next += 1;
        TokenId(self.next)
    }

    /// Returns the token whose secret has this hash. Compares every entry, so that the time reveals nothing.
    pub(super) fn find(
        &self,
        hash: &SecretHash,
        kind: CredentialKind,
        now_ms: u64,
    ) -> Option<&TokenEntry> {
        let mut found = None;
        for entry in &self.entries {
            let fits = (entry.kind == TokenKind::Browser) == (kind == CredentialKind::Cookie);
            if entry.hash == *hash && fits && !has_expired(entry, now_ms) {
                found = Some(entry);
            }
        }
        found
    }

    pub(super) fn contains(&self, id: TokenId) -> bool {
        self.entries.iter().any(|entry| entry.id == id)
    }

    /// Replaces the main token. Returns it and the tokens that this revokes: the old one and those of all browsers.
    pub(super) fn set_main(
        &mut self,
        secret: &Secret,
        made_ms: Option<u64>,
    ) -> (TokenEntry, Vec<TokenId>) {
        let revoked =
            self.remove_where(|entry| matches!(entry.kind, TokenKind::Main | TokenKind::Browser));
        let entry = TokenEntry {
            id: self.new_id(),
            name: MAIN.to_owned(),
            kind: TokenKind::Main,
            scope: Scope::Full,
            hash: secret.hash(),
            made_ms,
            expires_ms: None,
        };
        self.entries.insert(0, entry.clone());
        (entry, revoked)
    }

    pub(super) fn main(&self) -> Option<&TokenEntry> {
        self.entries.iter().find(|entry| entry.kind == TokenKind::Main)
    }

    /// Adds a token. Returns it and the tokens that this revokes.
    pub(super) fn add(
        &mut self,
        new: NewTokenEntry<'_>,
    ) -> Result<(TokenEntry, Vec<TokenId>), TokenError> {
        let mut revoked = self.remove_where(|entry| has_expired(entry, new.now_ms));
        let of_kind = self.entries.iter().filter(|entry| entry.kind == new.kind);
        match (new.kind, of_kind.count()) {
            (TokenKind::Browser, MAX_BROWSERS..) => {
                let is_browser = |entry: &&TokenEntry| entry.kind == TokenKind::Browser;
                let oldest = self.entries.iter().filter(is_browser).min_by_key(|e| e.made_ms);
                let oldest = oldest.map(|entry| entry.id);
                revoked.extend(self.remove_where(|entry| Some(entry.id) == oldest));
            }
            (TokenKind::Extra, MAX_EXTRA..) => return Err(TokenError::Full),
            _ => {}
        }
        let name = match new.name {
            Some(name) => self.check_name(name)?,
            None if new.kind == TokenKind::Browser => self.free_name("browser"),
            None => self.free_name("token"),
        };
        let expires_ms = (new.kind == TokenKind::Browser).then(|| new.now_ms + BROWSER_MS);
        let entry = TokenEntry {
            id: self.new_id(),
            name,
            kind: new.kind,
            scope: new.scope,
            hash: new.secret.hash(),
            made_ms: Some(new.now_ms),
            expires_ms,
        };
        self.entries.push(entry.clone());
        Ok((entry, revoked))
    }

    /// Replaces the secret of a token. Returns it and the tokens that this revokes.
    pub(super) fn rotate(
        &mut self,
        name: &str,
        secret: &Secret,
        now_ms: u64,
    ) -> Result<(TokenEntry, Vec<TokenId>), TokenError> {
        if name == MAIN {
            return Ok(self.set_main(secret, Some(now_ms)));
        }
        let id = self.new_id();
        let entry = self.entries.iter_mut().find(|entry| entry.name == name);
        let entry = entry.ok_or_else(|| TokenError::Unknown(name.to_owned()))?;
        if entry.kind == TokenKind::Browser {
            return Err(TokenError::RotateBrowser);
        }
        let old_id = std::mem::replace(&mut entry.id, id);
        entry.hash = secret.hash();
        entry.made_ms = Some(now_ms);
        Ok((entry.clone(), vec![old_id]))
    }

    pub(super) fn revoke(&mut self, name: &str) -> Result<TokenId, TokenError> {
        let at = self.entries.iter().position(|entry| entry.name == name);
        let at = at.ok_or_else(|| TokenError::Unknown(name.to_owned()))?;
        if self.entries[at].kind == TokenKind::Main {
            return Err(TokenError::RevokeMain);
        }
        Ok(self.entries.remove(at).id)
    }

    /// Revokes a token by its id, if it still exists.
    pub(super) fn remove(&mut self, id: TokenId) {
        self.entries.retain(|entry| entry.id != id);
    }

    fn remove_where(&mut self, condition: impl Fn(&TokenEntry) -> bool) -> Vec<TokenId> {
        self.entries.extract_if(.., |entry| condition(entry)).map(|entry| entry.id).collect()
    }

    fn check_name(&self, name: String) -> Result<String, TokenError> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let valid = !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(allowed);
        // Clients remove `.` and `..` from a path.
        if !valid || name.chars().all(|c| c == '.') {
            return Err(TokenError::InvalidName(name));
        }
        if name == MAIN || self.entries.iter().any(|entry| entry.name == name) {
            return Err(TokenError::NameTaken(name));
        }
        Ok(name)
    }

    fn free_name(&self, stem: &str) -> String {
        let mut names = (1_u64..).map(|number| format!("{stem}-{number}"));
        let free = names.find(|name| self.entries.iter().all(|entry| entry.name != *name));
        free.unwrap_or_else(|| stem.to_owned())
    }
}

fn has_expired(entry: &TokenEntry, now_ms: u64) -> bool {
    entry.expires_ms.is_some_and(|at| now_ms >= at)
}

#[cfg(test)]
pub(super) fn test_identity(scope: Scope) -> super::Identity {
    super::Identity {
        scope,
        credential: super::identity::Credential::Token {
            id: TokenId(7),
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

    fn new(kind: TokenKind, secret: &Secret) -> NewTokenEntry<'_> {
        NewTokenEntry { name: None, kind, scope: Scope::ReadOnly, secret, now_ms: 1000 }
    }

    fn named<'a>(name: &str, secret: &'a Secret) -> NewTokenEntry<'a> {
        NewTokenEntry { name: Some(name.to_owned()), ..new(TokenKind::Extra, secret) }
    }

    #[test]
    fn a_secret_is_valid_only_as_its_own_kind_of_credential() {
        let mut tokens = TokenTable::default();
        let (main, extra, browser) = (secret(), secret(), secret());
        tokens.set_main(&main, None);
        tokens.add(new(TokenKind::Extra, &extra)).unwrap();
        tokens.add(new(TokenKind::Browser, &browser)).unwrap();
        let scope =
            |secret: &Secret, kind| tokens.find(&secret.hash(), kind, 2000).map(|it| it.scope);
        assert_eq!(scope(&main, CredentialKind::Bearer), Some(Scope::Full));
        assert_eq!(scope(&extra, CredentialKind::Bearer), Some(Scope::ReadOnly));
        assert_eq!(scope(&browser, CredentialKind::Cookie), Some(Scope::ReadOnly));
        assert_eq!(scope(&main, CredentialKind::Cookie), None);
        assert_eq!(scope(&browser, CredentialKind::Bearer), None);
        assert_eq!(scope(&secret(), CredentialKind::Bearer), None);
    }

    #[test]
    fn a_new_main_token_revokes_the_old_one_and_every_browser() {
        let mut tokens = TokenTable::default();
        let (old, new_one, extra, browser) = (secret(), secret(), secret(), secret());
        tokens.set_main(&old, None);
        let (kept, _) = tokens.add(new(TokenKind::Extra, &extra)).unwrap();
        let (out, _) = tokens.add(new(TokenKind::Browser, &browser)).unwrap();
        let (_, gone) = tokens.set_main(&new_one, Some(5));
        assert!(gone.contains(&out.id) && gone.len() == 2 && tokens.contains(kept.id));
        assert!(tokens.find(&old.hash(), CredentialKind::Bearer, 0).is_none());
        assert!(tokens.find(&new_one.hash(), CredentialKind::Bearer, 0).is_some());
    }

    #[test]
    fn a_rotated_token_has_the_same_name_and_a_new_id() {
        let mut tokens = TokenTable::default();
        let (old, fresh) = (secret(), secret());
        let (entry, _) = tokens.add(named("ci", &old)).unwrap();
        let (after, revoked) = tokens.rotate("ci", &fresh, 9).unwrap();
        assert_eq!((revoked.as_slice(), after.name.as_str()), (&[entry.id][..], "ci"));
        assert!(!tokens.contains(entry.id) && tokens.contains(after.id));
        assert!(tokens.find(&old.hash(), CredentialKind::Bearer, 0).is_none());
        assert_eq!(tokens.rotate("no", &fresh, 9).unwrap_err(), TokenError::Unknown("no".into()));
    }

    #[test]
    fn all_tokens_but_the_main_one_can_be_revoked() {
        let mut tokens = TokenTable::default();
        let (main, extra) = (secret(), secret());
        tokens.set_main(&main, None);
        let (entry, _) = tokens.add(named("ci", &extra)).unwrap();
        assert_eq!(tokens.revoke(MAIN), Err(TokenError::RevokeMain));
        assert_eq!(tokens.revoke("ci"), Ok(entry.id));
        assert_eq!(tokens.revoke("ci"), Err(TokenError::Unknown("ci".into())));
    }

    #[test]
    fn names_are_plain_and_unique() {
        let mut tokens = TokenTable::default();
        let secret = secret();
        tokens.add(named("ci", &secret)).unwrap();
        for (name, taken) in
            [("ci", true), (MAIN, true), ("", false), ("a b", false), ("..", false)]
        {
            let error = tokens.add(named(name, &secret)).unwrap_err();
            assert_eq!(matches!(error, TokenError::NameTaken(_)), taken, "{name:?}: {error}");
        }
        assert!(tokens.add(named(&"x".repeat(41), &secret)).is_err());
        assert_eq!(tokens.add(new(TokenKind::Extra, &secret)).unwrap().0.name, "token-1");
        assert_eq!(tokens.add(new(TokenKind::Extra, &secret)).unwrap().0.name, "token-2");
    }

    #[test]
    fn the_number_of_tokens_is_limited() {
        let mut tokens = TokenTable::default();
        let secret = secret();
        for _ in 0..MAX_EXTRA {
            tokens.add(new(TokenKind::Extra, &secret)).unwrap();
        }
        assert_eq!(tokens.add(new(TokenKind::Extra, &secret)).unwrap_err(), TokenError::Full);
        let browser = |now_ms| NewTokenEntry { now_ms, ..new(TokenKind::Browser, &secret) };
        let (first, _) = tokens.add(browser(1)).unwrap();
        for now in 2..=MAX_BROWSERS as u64 {
            assert_eq!(tokens.add(browser(now)).unwrap().1, []);
        }
        assert_eq!(tokens.add(browser(99)).unwrap().1, [first.id], "the oldest makes room");
    }

    #[test]
    fn a_browser_stays_signed_in_for_a_week() {
        let mut tokens = TokenTable::default();
        let secret = secret();
        let (entry, _) = tokens.add(new(TokenKind::Browser, &secret)).unwrap();
        let end = 1000 + BROWSER_MS;
        assert!(tokens.find(&secret.hash(), CredentialKind::Cookie, end - 1).is_some());
        assert!(tokens.find(&secret.hash(), CredentialKind::Cookie, end).is_none());
        let later = NewTokenEntry { now_ms: end, ..new(TokenKind::Browser, &secret) };
        assert_eq!(tokens.add(later).unwrap().1, [entry.id], "it is removed then");
    }
}
