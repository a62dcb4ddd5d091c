//! The tokens on disk. The main token is in a file of its own, which programs read; of all others only hashes are stored.
//!
//! A new or rotated token becomes valid after it is written; a revoked token becomes invalid before that is written. Only
//! the daemon writes these files. Everything but the lookups may block.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use kennel_daemon::ApiError;
use kennel_types::api::{Scope, TokenKind};

use super::identity::{Credential, Identity};
use super::secret::{Secret, SecretHash};
use super::tokens::{CredentialKind, NewTokenEntry, TokenEntry, TokenError, TokenId, TokenTable};
use super::{lock, private_file};

const MAIN_FILE: &str = "api.token";
/// The file with the hashes of all others.
const HASHES_FILE: &str = "api.tokens";

#[derive(Debug, thiserror::Error)]
pub(super) enum TokenStoreError {
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error("{path}: {source}")]
    File { path: String, source: io::Error },
    #[error("{0} is malformed")]
    Malformed(String),
    #[error("the operation was interrupted: {0}")]
    Unfinished(String),
    #[error("can't get random bytes: {0}")]
    Random(io::Error),
    #[error(
        "the token is revoked until the daemon restarts, but {path} can't be written: {source}"
    )]
    NotDurable { path: String, source: io::Error },
}

impl From<TokenStoreError> for ApiError {
    fn from(error: TokenStoreError) -> Self {
        use TokenStoreError::{Malformed, Token};
        match &error {
            Token(TokenError::Unknown(_)) => {
                Self::not_found(error).hint("`kennel token list` lists all tokens")
            }
            Token(TokenError::InvalidName(_)) => Self::invalid(error),
            Token(TokenError::RevokeMain) => {
                Self::conflict(error).hint("`kennel token rotate` replaces it")
            }
            Token(TokenError::NameTaken(_)) => {
                Self::conflict(error).hint("`kennel token rotate NAME` gives it a new secret")
            }
            Token(_) => Self::conflict(error),
            Malformed(_) => {
                Self::internal(error).hint("remove that file and create its tokens again")
            }
            _ => Self::internal(error),
        }
    }
}

/// A token with its secret, and the tokens that it replaces.
#[derive(Debug)]
pub(super) struct IssuedToken {
    pub(super) secret: Secret,
    pub(super) entry: TokenEntry,
    pub(super) revoked: Vec<TokenId>,
}

#[derive(Debug)]
pub(super) struct TokenStore {
    folder: PathBuf,
    /// Held while files are read or written.
    write_lock: Mutex<()>,
    /// `None` until the files are read. The lock is never held during a call that may block.
    table: Mutex<Option<TokenTable>>,
}

impl TokenStore {
    pub(super) fn new(folder: &Path) -> Self {
        let folder = folder.to_owned();
        Self { folder, write_lock: Mutex::default(), table: Mutex::default() }
    }

    /// Returns the identity that a secret with this hash grants; `None` until the files are read.
    pub(super) fn find(
        &self,
        hash: &SecretHash,
        kind: CredentialKind,
        now_ms: u64,
    ) -> Option<Identity> {
        let table = lock(&self.table);
        let entry = table.as_ref()?.find(hash, kind, now_ms)?;
        let credential =
            Credential::Token { id: entry.id, kind: entry.kind, name: entry.name.clone() };
        Some(Identity { scope: entry.scope, credential })
    }

    pub(super) fn contains(&self, id: TokenId) -> bool {
        lock(&self.table).as_ref().is_some_and(|table| table.contains(id))
    }

    pub(super) fn list(&self) -> Result<Vec<TokenEntry>, TokenStoreError> {
        let _guard = lock(&self.write_lock);
        Ok(self.read()?.entries().to_vec())
    }

    /// Returns the main token. Creates it if it does not exist yet.
    pub(super) fn main(&self) -> Result<IssuedToken, TokenStoreError> {
        let _guard = lock(&self.write_lock);
        let table = self.read()?;
        // Read the file again: a user may have replaced it.
        let secret = self.read_main()?;
        let known =
            table.main().filter(|known| Some(known.hash) == secret.as_ref().map(Secret::hash));
        match (secret, known.cloned()) {
            (Some(secret), Some(entry)) => Ok(IssuedToken { secret, entry, revoked: Vec::new() }),
            (secret, _) => self.issue(secret, |table, secret| Ok(table.set_main(secret, None))),
        }
    }

    pub(super) fn add(
        &self,
        name: Option<String>,
        kind: TokenKind,
        scope: Scope,
        now_ms: u64,
    ) -> Result<IssuedToken, TokenStoreError> {
        let _guard = lock(&self.write_lock);
        self.issue(None, |table, secret| {
            table.add(NewTokenEntry { name, kind, scope, secret, now_ms })
        })
    }

    pub(super) fn rotate(&self, name: &str, now_ms: u64) -> Result<IssuedToken, TokenStoreError> {
        let _guard = lock(&self.write_lock);
        self.issue(None, |table, secret| table.rotate(name, secret, now_ms))
    }

    /// Changes the table and writes it. The change takes effect only then. Call it with the write lock held.
    fn issue(
        &self,
        secret: Option<Secret>,
        change: impl FnOnce(&mut TokenTable, &Secret) -> Result<(TokenEntry, Vec<TokenId>), TokenError>,
    ) -> Result<IssuedToken, TokenStoreError> {
        let mut table = self.read()?;
        let secret = secret.map_or_else(Secret::random, Ok).map_err(TokenStoreError::Random)?;
        let (entry, revoked) = change(&mut table, &secret)?;
        self.save(&table)?;
        if entry.kind == TokenKind::Main {
            // After a crash here, all browsers are signed out, and the old main token is still valid.
            let path = self.folder.join(MAIN_FILE);
            let text = format!("{}\n", secret.expose());
            private_file::write(&path, &text).map_err(failed(&path))?;
        }
        *lock(&self.table) = Some(table);
        Ok(IssuedToken { secret, entry, revoked })
    }

    /// Revokes a token immediately. The inner result reports whether that could be written.
    pub(super) fn revoke(
        &self,
        name: &str,
    ) -> Result<(TokenId, Result<(), TokenStoreError>), TokenStoreError> {
        let _guard = lock(&self.write_lock);
        let mut table = self.read()?;
        let id = table.revoke(name)?;
        Ok((id, self.save_revocation(table)))
    }

    /// Revokes a token by its id, if it still exists.
    pub(super) fn revoke_id(&self, id: TokenId) -> Result<(), TokenStoreError> {
        let _guard = lock(&self.write_lock);
        let mut table = self.read()?;
        table.remove(id);
        self.save_revocation(table)
    }

    /// A revocation takes effect even if it can't be written.
    fn save_revocation(&self, table: TokenTable) -> Result<(), TokenStoreError> {
        *lock(&self.table) = Some(table.clone());
        self.save(&table).map_err(|error| match error {
            TokenStoreError::File { path, source } => TokenStoreError::NotDurable { path, source },
            other => other,
        })
    }

    /// Returns the table, which is read from the files the first time. Call it with the write lock held.
    fn read(&self) -> Result<TokenTable, TokenStoreError> {
        if let Some(table) = &*lock(&self.table) {
            return Ok(table.clone());
        }
        let mut table = TokenTable::default();
        let path = self.folder.join(HASHES_FILE);
        let text = private_file::read(&path).map_err(failed(&path))?;
        if let Some(secret) = self.read_main()? {
            table.set_main(&secret, None);
        }
        let entries: Vec<TokenEntry> = match text {
            Some(text) if !text.is_empty() => {
                serde_json::from_str(&text).map_err(|_| malformed(&path))?
            }
            _ => Vec::new(),
        };
        entries.into_iter().for_each(|entry| table.restore(entry));
        *lock(&self.table) = Some(table.clone());
        Ok(table)
    }

    fn read_main(&self) -> Result<Option<Secret>, TokenStoreError> {
        let path = self.folder.join(MAIN_FILE);
        let Some(text) = private_file::read(&path).map_err(failed(&path))? else { return Ok(None) };
        Secret::parse(text.trim()).map(Some).ok_or_else(|| malformed(&path))
    }

    fn save(&self, table: &TokenTable) -> Result<(), TokenStoreError> {
        let others = table.entries().iter().filter(|entry| entry.kind != TokenKind::Main);
        let others: Vec<_> = others.collect();
        let path = self.folder.join(HASHES_FILE);
        if others.is_empty() {
            return private_file::remove(&path).map_err(failed(&path));
        }
        let text = serde_json::to_string_pretty(&others).map_err(io::Error::other);
        let written = text.and_then(|text| private_file::write(&path, &(text + "\n")));
        written.map_err(failed(&path))
    }
}

fn malformed(path: &Path) -> TokenStoreError {
    TokenStoreError::Malformed(path.display().to_string())
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> TokenStoreError {
    let path = path.display().to_string();
    move |source| TokenStoreError::File { path, source }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::tokens::MAIN;
    use super::*;

    fn bearer(store: &TokenStore, secret: &Secret) -> Option<Scope> {
        store.find(&secret.hash(), CredentialKind::Bearer, 5).map(|identity| identity.scope)
    }

    #[test]
    fn the_next_daemon_finds_the_tokens_and_only_hashes_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let store = TokenStore::new(folder.path());
        let main = store.main().unwrap();
        let extra = store.add(Some("ci".into()), TokenKind::Extra, Scope::ReadOnly, 5).unwrap();
        let browser = store.add(None, TokenKind::Browser, Scope::Full, 5).unwrap();
        let text = fs::read_to_string(folder.path().join(HASHES_FILE)).unwrap();
        for secret in [&main.secret, &extra.secret, &browser.secret] {
            assert!(!text.contains(&secret.expose()[8..]), "{text}");
        }
        let next = TokenStore::new(folder.path());
        assert_eq!(bearer(&next, &main.secret), None, "nothing was read yet");
        assert_eq!(next.main().unwrap().secret.hash(), main.secret.hash());
        assert_eq!(bearer(&next, &main.secret), Some(Scope::Full));
        assert_eq!(bearer(&next, &extra.secret), Some(Scope::ReadOnly));
        assert!(next.find(&browser.secret.hash(), CredentialKind::Cookie, 6).is_some());
        assert_eq!(next.list().unwrap().len(), 3);
    }

    #[test]
    fn rotation_takes_effect_at_once_and_lasts() {
        let folder = tempfile::tempdir().unwrap();
        let store = TokenStore::new(folder.path());
        let old = store.main().unwrap();
        let browser = store.add(None, TokenKind::Browser, Scope::Full, 5).unwrap();
        let new = store.rotate(MAIN, 6).unwrap();
        assert!(new.revoked.contains(&old.entry.id) && new.revoked.contains(&browser.entry.id));
        for store in [&store, &TokenStore::new(folder.path())] {
            assert_eq!(store.main().unwrap().secret.hash(), new.secret.hash());
            assert_eq!(bearer(store, &old.secret), None);
            assert!(store.find(&browser.secret.hash(), CredentialKind::Cookie, 6).is_none());
        }
    }

    #[test]
    fn unwritable_changes_fail_but_revocations_take_effect() {
        let folder = tempfile::tempdir().unwrap();
        let store = TokenStore::new(folder.path());
        let old = store.main().unwrap();
        let extra = store.add(Some("ci".into()), TokenKind::Extra, Scope::Full, 5).unwrap();
        let gone = folder.path().with_extension("moved");
        fs::rename(folder.path(), &gone).unwrap();
        assert!(store.rotate(MAIN, 6).is_err() && store.rotate("ci", 6).is_err());
        assert!(store.add(None, TokenKind::Extra, Scope::Full, 6).is_err());
        assert_eq!(bearer(&store, &old.secret), Some(Scope::Full));
        assert_eq!(bearer(&store, &extra.secret), Some(Scope::Full));
        fs::create_dir(folder.path()).unwrap();
        fs::create_dir(folder.path().join(HASHES_FILE)).unwrap();
        let (id, saved) = store.revoke("ci").unwrap();
        assert!(
            matches!(saved, Err(TokenStoreError::File { .. } | TokenStoreError::NotDurable { .. })),
            "{saved:?}"
        );
        assert_eq!((id, bearer(&store, &extra.secret)), (extra.entry.id, None));
        fs::remove_dir_all(&gone).unwrap();
    }

    #[test]
    fn a_main_token_replaced_by_hand_is_valid_once_it_is_shown() {
        let folder = tempfile::tempdir().unwrap();
        let store = TokenStore::new(folder.path());
        let old = store.main().unwrap();
        fs::remove_file(folder.path().join(MAIN_FILE)).unwrap();
        let new = store.main().unwrap();
        assert_eq!(new.revoked, [old.entry.id]);
        assert_eq!(
            (bearer(&store, &old.secret), bearer(&store, &new.secret)),
            (None, Some(Scope::Full))
        );
    }

    #[test]
    fn a_malformed_file_grants_no_access_and_stays_unchanged() {
        for name in [MAIN_FILE, HASHES_FILE] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(name);
            fs::write(&path, "garbage").unwrap();
            let store = TokenStore::new(folder.path());
            assert!(matches!(store.main(), Err(TokenStoreError::Malformed(_))), "{name}");
            assert!(store.add(None, TokenKind::Extra, Scope::Full, 5).is_err());
            assert_eq!(fs::read_to_string(&path).unwrap(), "garbage");
        }
    }
}
