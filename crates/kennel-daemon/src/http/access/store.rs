//! The tokens on disk: the main one in a file of its own, as programs read it; of all others only sums.
//!
//! What is made or rotated is written before it counts; what is revoked counts at once, and is written then. Only the
//! daemon writes these files. All but the look-ups may block.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use kennel_types::api::{Scope, TokenKind};
use serde::{Deserialize, Serialize};

use super::identity::{Identity, Via};
use super::private_file;
use super::roll::{Entry, EntryId, MAIN, New, Presented, Roll, RollError};
use super::secret::{Secret, Sum};
use crate::error::ApiError;

/// The main token.
const TOKEN: &str = "api.token";
/// The sums of all others.
const TOKENS: &str = "api.tokens";

/// Why tokens can't be had or changed.
#[derive(Debug, thiserror::Error)]
pub(super) enum StoreError {
    #[error(transparent)]
    Roll(#[from] RollError),
    #[error("{path}: {source}")]
    File { path: String, source: io::Error },
    #[error("{0} does not hold what it should")]
    Garbled(String),
    #[error("nobody has finished this: {0}")]
    Lost(String),
    #[error("no random bytes: {0}")]
    Random(io::Error),
    #[error(
        "it is revoked, but that can't be written to {path}, and is forgotten with this daemon: {source}"
    )]
    NotDurable { path: String, source: io::Error },
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::Roll(RollError::Unknown(_)) => {
                Self::not_found(error).hint("`kennel token list` lists all")
            }
            StoreError::Roll(RollError::BadName(_)) => Self::invalid(error),
            StoreError::Roll(RollError::MainStays) => {
                Self::conflict(error).hint("`kennel token rotate` puts another in its place")
            }
            StoreError::Roll(RollError::Taken(_)) => {
                Self::conflict(error).hint("`kennel token rotate NAME` gives it another secret")
            }
            StoreError::Roll(_) => Self::conflict(error),
            StoreError::Garbled(_) => Self::internal(error)
                .hint("remove that file: its tokens are void then, and can be made anew"),
            _ => Self::internal(error),
        }
    }
}

/// A secret that was made, whose it is, and who is out for it.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) secret: Secret,
    pub(super) entry: Entry,
    pub(super) out: Vec<EntryId>,
}

/// The tokens of a home.
#[derive(Debug)]
pub(super) struct Store {
    folder: PathBuf,
    /// Held while files are read or written: one at a time.
    pen: Mutex<()>,
    /// None until it was read. Never held over a call that may block.
    roll: Mutex<Option<Roll>>,
}

/// An entry in the file.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    name: String,
    kind: TokenKind,
    scope: Scope,
    sha256: String,
    made_ms: Option<u64>,
    expires_ms: Option<u64>,
}

impl Store {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), pen: Mutex::default(), roll: Mutex::default() }
    }

    /// Whose secret has this sum; nobody's before anything was read.
    pub(super) fn find(&self, sum: &Sum, how: Presented, now_ms: u64) -> Option<Identity> {
        let roll = lock(&self.roll);
        let entry = roll.as_ref()?.find(sum, how, now_ms)?;
        let via = Via::Tcp { id: entry.id, kind: entry.kind, name: entry.name.clone() };
        Some(Identity { scope: entry.scope, via })
    }

    /// Whether it still counts.
    pub(super) fn holds(&self, id: EntryId) -> bool {
        lock(&self.roll).as_ref().is_some_and(|roll| roll.holds(id))
    }

    /// All that let in.
    pub(super) fn list(&self) -> Result<Vec<Entry>, StoreError> {
        let _pen = lock(&self.pen);
        Ok(self.read()?.entries().to_vec())
    }

    /// The main token, made if there is none.
    pub(super) fn main(&self) -> Result<Made, StoreError> {
        let _pen = lock(&self.pen);
        let mut roll = self.read()?;
        // As the file has it now: whoever has put another there means it.
        let found = self.read_main()?;
        let secret = match found {
            Some(secret) => secret,
            None => {
                let secret = Secret::random().map_err(StoreError::Random)?;
                self.write_main(&secret)?;
                secret
            }
        };
        let out = match roll.main() {
            Some(sum) if sum == secret.sum() => Vec::new(),
            _ => self.exchange_main(&mut roll, &secret, None)?,
        };
        let entry = roll.entries().first().cloned();
        let entry = entry.ok_or_else(|| RollError::Unknown(MAIN.to_owned()))?;
        Ok(Made { secret, entry, out })
    }

    /// Another one is the main token from now on. Only browsers are out already if that was all that could be written.
    fn exchange_main(
        &self,
        roll: &mut Roll,
        secret: &Secret,
        made_ms: Option<u64>,
    ) -> Result<Vec<EntryId>, StoreError> {
        let out = roll.set_main(secret, made_ms);
        self.save(roll)?;
        *lock(&self.roll) = Some(roll.clone());
        Ok(out)
    }

    /// Lets one more in.
    pub(super) fn add(
        &self,
        name: Option<String>,
        kind: TokenKind,
        scope: Scope,
        now_ms: u64,
    ) -> Result<Made, StoreError> {
        let _pen = lock(&self.pen);
        let mut roll = self.read()?;
        let secret = Secret::random().map_err(StoreError::Random)?;
        let (entry, out) = roll.add(New { name, kind, scope, secret: &secret, now_ms })?;
        self.save(&roll)?;
        *lock(&self.roll) = Some(roll);
        Ok(Made { secret, entry, out })
    }

    /// Gives a token another secret.
    pub(super) fn rotate(&self, name: &str, now_ms: u64) -> Result<Made, StoreError> {
        let _pen = lock(&self.pen);
        let mut roll = self.read()?;
        let secret = Secret::random().map_err(StoreError::Random)?;
        if name == MAIN {
            let mut next = roll.clone();
            let out = next.set_main(&secret, Some(now_ms));
            self.save(&next)?;
            // If it ends here, the browsers are out, and the token is the former one.
            self.write_main(&secret)?;
            let entry = next.entries()[0].clone();
            *lock(&self.roll) = Some(next);
            return Ok(Made { secret, entry, out });
        }
        let (entry, former) = roll.rotate(name, &secret, now_ms)?;
        self.save(&roll)?;
        *lock(&self.roll) = Some(roll);
        Ok(Made { secret, entry, out: vec![former] })
    }

    /// Lets one in no more. The entry is out at once, even if that can't be written: see the error then.
    pub(super) fn revoke(
        &self,
        name: &str,
    ) -> Result<(EntryId, Result<(), StoreError>), StoreError> {
        let _pen = lock(&self.pen);
        let mut roll = self.read()?;
        let out = roll.revoke(name)?;
        Ok((out, self.save_without(roll)))
    }

    /// The same of an entry that is known, by whatever name.
    pub(super) fn put_out(&self, id: EntryId) -> Result<(), StoreError> {
        let _pen = lock(&self.pen);
        let mut roll = self.read()?;
        roll.remove(id);
        self.save_without(roll)
    }

    /// Somebody is out: that counts, whether or not it can be written.
    fn save_without(&self, roll: Roll) -> Result<(), StoreError> {
        *lock(&self.roll) = Some(roll.clone());
        self.save(&roll).map_err(|error| match error {
            StoreError::File { path, source } => StoreError::NotDurable { path, source },
            other => other,
        })
    }

    /// What is known; from the files the first time. To be called with the pen held.
    fn read(&self) -> Result<Roll, StoreError> {
        if let Some(roll) = &*lock(&self.roll) {
            return Ok(roll.clone());
        }
        let mut roll = Roll::default();
        let path = self.folder.join(TOKENS);
        let text = private_file::read(&path).map_err(failed(&path))?;
        if let Some(secret) = self.read_main()? {
            roll.set_main(&secret, None);
        }
        for line in parse(&text.unwrap_or_default()).ok_or_else(|| garbled(&path))? {
            let sum = Sum::from_hex(&line.sha256).ok_or_else(|| garbled(&path))?;
            let Line { name, kind, scope, made_ms, expires_ms, .. } = line;
            roll.restore(|id| Entry { id, name, kind, scope, sum, made_ms, expires_ms });
        }
        *lock(&self.roll) = Some(roll.clone());
        Ok(roll)
    }

    fn read_main(&self) -> Result<Option<Secret>, StoreError> {
        let path = self.folder.join(TOKEN);
        let Some(text) = private_file::read(&path).map_err(failed(&path))? else { return Ok(None) };
        Secret::parse(text.trim()).map(Some).ok_or_else(|| garbled(&path))
    }

    fn write_main(&self, secret: &Secret) -> Result<(), StoreError> {
        let path = self.folder.join(TOKEN);
        private_file::write(&path, &format!("{}\n", secret.expose())).map_err(failed(&path))
    }

    fn save(&self, roll: &Roll) -> Result<(), StoreError> {
        let others = roll.entries().iter().filter(|entry| entry.kind != TokenKind::Main);
        let lines: Vec<_> = others
            .map(|entry| Line {
                name: entry.name.clone(),
                kind: entry.kind,
                scope: entry.scope,
                sha256: entry.sum.to_hex(),
                made_ms: entry.made_ms,
                expires_ms: entry.expires_ms,
            })
            .collect();
        let path = self.folder.join(TOKENS);
        if lines.is_empty() {
            return private_file::remove(&path).map_err(failed(&path));
        }
        let text = serde_json::to_string_pretty(&lines).map_err(io::Error::other);
        let written = text.and_then(|text| private_file::write(&path, &(text + "\n")));
        written.map_err(failed(&path))
    }
}

fn parse(text: &str) -> Option<Vec<Line>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    serde_json::from_str(text).ok()
}

fn garbled(path: &Path) -> StoreError {
    StoreError::Garbled(path.display().to_string())
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.display().to_string();
    move |source| StoreError::File { path, source }
}

/// A thread that panicked with it has changed nothing: values are exchanged in whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn bearer(store: &Store, secret: &Secret) -> Option<Scope> {
        store.find(&secret.sum(), Presented::Bearer, 5).map(|identity| identity.scope)
    }

    #[test]
    fn tokens_are_there_for_the_next_daemon_and_only_sums_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path());
        let main = store.main().unwrap();
        let extra = store.add(Some("ci".into()), TokenKind::Extra, Scope::ReadOnly, 5).unwrap();
        let browser = store.add(None, TokenKind::Browser, Scope::Full, 5).unwrap();
        let text = fs::read_to_string(folder.path().join(TOKENS)).unwrap();
        for secret in [&main.secret, &extra.secret, &browser.secret] {
            assert!(!text.contains(&secret.expose()[8..]), "{text}");
        }
        let next = Store::new(folder.path());
        assert_eq!(bearer(&next, &main.secret), None, "nothing was read yet");
        assert_eq!(next.main().unwrap().secret.sum(), main.secret.sum());
        assert_eq!(bearer(&next, &main.secret), Some(Scope::Full));
        assert_eq!(bearer(&next, &extra.secret), Some(Scope::ReadOnly));
        assert!(next.find(&browser.secret.sum(), Presented::Cookie, 6).is_some());
        assert_eq!(next.list().unwrap().len(), 3);
    }

    #[test]
    fn rotation_counts_at_once_and_for_good() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path());
        let old = store.main().unwrap();
        let browser = store.add(None, TokenKind::Browser, Scope::Full, 5).unwrap();
        let new = store.rotate(MAIN, 6).unwrap();
        assert!(new.out.contains(&old.entry.id) && new.out.contains(&browser.entry.id));
        for store in [&store, &Store::new(folder.path())] {
            assert_eq!(store.main().unwrap().secret.sum(), new.secret.sum());
            assert_eq!(bearer(store, &old.secret), None);
            assert!(store.find(&browser.secret.sum(), Presented::Cookie, 6).is_none());
        }
    }

    #[test]
    fn what_cant_be_written_does_not_count_but_what_is_revoked_is() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path());
        let old = store.main().unwrap();
        let extra = store.add(Some("ci".into()), TokenKind::Extra, Scope::Full, 5).unwrap();
        let gone = folder.path().with_extension("moved");
        fs::rename(folder.path(), &gone).unwrap();
        assert!(store.rotate(MAIN, 6).is_err() && store.rotate("ci", 6).is_err());
        assert!(store.add(None, TokenKind::Extra, Scope::Full, 6).is_err());
        assert_eq!(bearer(&store, &old.secret), Some(Scope::Full));
        assert_eq!(bearer(&store, &extra.secret), Some(Scope::Full));
        fs::create_dir(folder.path()).unwrap();
        fs::create_dir(folder.path().join(TOKENS)).unwrap();
        let (out, saved) = store.revoke("ci").unwrap();
        assert!(
            matches!(saved, Err(StoreError::File { .. } | StoreError::NotDurable { .. })),
            "{saved:?}"
        );
        assert_eq!((out, bearer(&store, &extra.secret)), (extra.entry.id, None));
        fs::remove_dir_all(&gone).unwrap();
    }

    #[test]
    fn a_main_token_that_was_put_in_its_place_or_removed_by_hand_counts_when_it_is_shown() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path());
        let old = store.main().unwrap();
        fs::remove_file(folder.path().join(TOKEN)).unwrap();
        let new = store.main().unwrap();
        assert_eq!(new.out, [old.entry.id]);
        assert_eq!(
            (bearer(&store, &old.secret), bearer(&store, &new.secret)),
            (None, Some(Scope::Full))
        );
    }

    #[test]
    fn garbage_lets_nobody_in_and_is_left_as_it_is() {
        for name in [TOKEN, TOKENS] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(name);
            fs::write(&path, "garbage").unwrap();
            let store = Store::new(folder.path());
            assert!(matches!(store.main(), Err(StoreError::Garbled(_))), "{name}");
            assert!(store.add(None, TokenKind::Extra, Scope::Full, 5).is_err());
            assert_eq!(fs::read_to_string(&path).unwrap(), "garbage");
        }
    }
}
