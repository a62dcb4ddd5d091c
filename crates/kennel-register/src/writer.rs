//! The thread that writes.
//!
//! ```text
//!       ┌───────────────────────────────────────────────────────────────────────────┐
//!       v                                                                           │
//!     wait ── a wish ──> gather ── durable: what is queued; else up to 50 ms more ──> commit, flush, answer
//!       └── quiet ──> chores: old events dropped, log lengthened, log emptied
//! ```

use std::collections::{HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use kennel_core::SessionId;
use tokio::sync::{oneshot, watch};

use crate::batch::{Failure, Item, Reply, Urgency, transact};
use crate::database::{Database, Standing};
use crate::entry::{CommitReport, NewEvent, Retained, Retention};
use crate::error::WriteError;
use crate::open;
use crate::queue::{Next, Outlet};
use crate::reader::Readers;
use crate::rows;

/// How long a write that isn't durable waits for company.
const COMPANY: Duration = Duration::from_millis(50);
/// The same while somebody follows the log: they are told of nothing before it is written.
const COMPANY_WHEN_FOLLOWED: Duration = Duration::from_millis(2);
/// After such a silence there is time for chores.
const QUIET: Duration = Duration::from_millis(100);
/// How often events that nobody waits for are tried again if nothing else comes.
const RETRY: Duration = Duration::from_secs(5);
/// At most so many are kept for that.
const BACKLOG: usize = 1000;
/// At most so many wishes in a transaction.
const MAX_BATCH: usize = 512;
/// Events dropped in one go, so that nobody waits long behind it.
const DROP_AT_ONCE: u64 = 5000;

/// What the thread is asked for.
#[derive(Debug)]
pub(crate) enum Command {
    Write(Item),
    Retain(Retention, oneshot::Sender<Result<Retained, WriteError>>),
    Prove(oneshot::Sender<Result<(), WriteError>>),
    Close,
}

impl Command {
    /// How soon the thread must hear of it.
    pub(crate) fn urgency(&self) -> Urgency {
        match self {
            Self::Write(item) => item.urgency,
            Self::Retain(..) | Self::Prove(_) | Self::Close => Urgency::Now,
        }
    }
}

/// Called after each commit.
pub(crate) type OnCommit = Box<dyn Fn(CommitReport) + Send>;

/// The thread's own.
pub(crate) struct Writer {
    pub(crate) path: PathBuf,
    pub(crate) home_id: String,
    /// The connection, or why there is none.
    pub(crate) database: Result<Database, WriteError>,
    pub(crate) commands: Outlet,
    /// Sessions that have yet to tell their outcome.
    pub(crate) live: HashSet<SessionId>,
    pub(crate) latest_seq: watch::Sender<u64>,
    pub(crate) readers: Arc<Readers>,
    pub(crate) flushes: Arc<AtomicU64>,
    pub(crate) on_commit: OnCommit,
    pub(crate) rest: Rest,
}

/// What could not be done so far.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    /// Events that nobody waits for.
    events: VecDeque<NewEvent>,
    /// Those that were too many to keep.
    lost: u64,
    /// Whether the last write failed.
    failing: bool,
    trims: VecDeque<Trim>,
}

/// A retention under way.
#[derive(Debug)]
struct Trim {
    retention: Retention,
    dropped: u64,
    reply: oneshot::Sender<Result<Retained, WriteError>>,
}

#[derive(Debug, Default)]
struct Batch {
    items: Vec<Item>,
    urgent: bool,
    closing: bool,
}

impl Writer {
    /// Works until it is told to close, or nobody is left who could ask for anything.
    pub(crate) fn run(mut self) {
        loop {
            let batch = self.gather();
            self.commit(batch.items);
            if batch.closing {
                break;
            }
            if let Ok(database) = &mut self.database
                && database.is_overdue()
            {
                database.do_chores();
            }
        }
        self.close();
    }

    fn gather(&mut self) -> Batch {
        let mut batch = Batch::default();
        match self.wait() {
            Some(command) => self.sort(command, &mut batch),
            None => return batch,
        }
        let deadline = Instant::now() + self.company();
        while batch.items.len() < MAX_BATCH && !batch.closing {
            let next = if batch.urgent || batch.items.is_empty() {
                self.commands.take()
            } else {
                self.commands.wait_patiently(deadline)
            };
            match next {
                Next::Command(command) => self.sort(command, &mut batch),
                Next::Nothing => break,
                Next::Closed => {
                    batch.closing = true;
                    break;
                }
            }
        }
        batch
    }

    /// How long a write that isn't durable waits for others.
    fn company(&self) -> Duration {
        // One is held by all handles together, for those who will follow.
        if self.latest_seq.receiver_count() > 1 { COMPANY_WHEN_FOLLOWED } else { COMPANY }
    }

    /// The next wish. Does chores while there is none; nothing if it is time to try the rest again.
    fn wait(&mut self) -> Option<Command> {
        loop {
            let chores = self.database.as_ref().is_ok_and(Database::has_chores);
            let patience = match () {
                () if !self.rest.trims.is_empty() => Some(Duration::ZERO),
                () if chores => Some(QUIET),
                () if self.rest.has_events() => Some(RETRY),
                () => None,
            };
            match self.commands.wait(patience) {
                Next::Command(command) => return Some(command),
                Next::Closed => return Some(Command::Close),
                Next::Nothing if !self.rest.trims.is_empty() => self.trim(),
                Next::Nothing if !chores => return None,
                Next::Nothing => {
                    if let Ok(database) = &mut self.database {
                        database.do_chores();
                    }
                }
            }
        }
    }

    fn sort(&mut self, command: Command, batch: &mut Batch) {
        match command {
            Command::Write(item) => {
                batch.urgent |= item.urgency > Urgency::Soon;
                batch.items.push(item);
            }
            Command::Retain(retention, reply) => {
                self.rest.trims.push_back(Trim { retention, dropped: 0, reply });
            }
            // Whoever has gone does not want to know.
            Command::Prove(reply) => drop(reply.send(self.prove())),
            Command::Close => batch.closing = true,
        }
    }

    /// Writes, and answers.
    fn commit(&mut self, mut items: Vec<Item>) {
        items.splice(0..0, self.rest.take_events().map(Item::event));
        if items.is_empty() {
            return;
        }
        let begun = Instant::now();
        let results = self.write(&items);
        self.count(begun.elapsed(), &results);
        self.rest.note(results.iter().find_map(|result| result.as_ref().err()));
        let newest = results.iter().flatten().flatten().max().copied();
        if let Some(newest) = newest {
            self.latest_seq.send_replace(newest);
        }
        for (item, result) in items.into_iter().zip(results) {
            match (item.reply, result) {
                (Reply::Nobody, Err(_)) => self.rest.keep(item.events),
                (reply, result) => reply.send(result),
            }
        }
    }

    fn count(&self, took: Duration, results: &[Result<Vec<u64>, WriteError>]) {
        let failed = results.iter().filter(|result| result.is_err()).count() as u64;
        let recorded = results.len() as u64 - failed;
        let events = results.iter().flatten().map(|seqs| seqs.len() as u64).sum();
        (self.on_commit)(CommitReport { took, recorded, failed, events });
    }

    /// Says whether a session would be taken in now: there is room for what it has to say, and a write, of what is there
    /// already, works.
    fn prove(&mut self) -> Result<(), WriteError> {
        let (path, home_id, expected) =
            (self.path.clone(), self.home_id.clone(), self.live.len() + 1);
        let database = self.sound_database()?;
        database.make_room(expected)?;
        let failed = |error: rusqlite::Error| WriteError::from_sqlite(&path, &error);
        rows::claim(database.connection(), &home_id).map_err(failed)?;
        database.committed();
        Ok(())
    }

    fn write(&mut self, items: &[Item]) -> Vec<Result<Vec<u64>, WriteError>> {
        let Self { path, live, .. } = &*self;
        let newcomers: HashSet<_> =
            items.iter().filter_map(Item::lives).filter(|id| !live.contains(id)).cloned().collect();
        let (path, expected) = (path.clone(), live.len() + newcomers.len());
        let database = match self.sound_database() {
            Ok(database) => database,
            Err(error) => return vec![Err(error); items.len()],
        };
        let mut results: Vec<_> = items.iter().map(|_| Ok(Vec::new())).collect();
        if !newcomers.is_empty()
            && let Err(error) = database.make_room(expected)
        {
            // There is room for those who are in, but nobody else is let in.
            for (item, result) in items.iter().zip(&mut results) {
                if item.lives().is_some_and(|id| newcomers.contains(id)) {
                    *result = Err(error.clone());
                }
            }
        }
        put(database, &path, items, &mut results);
        let durable = |(item, result): (&Item, &Result<_, _>)| {
            item.urgency == Urgency::Durable && result.is_ok()
        };
        if items.iter().zip(&results).any(durable)
            && let Err(error) = database.flush()
        {
            for (item, result) in items.iter().zip(&mut results) {
                if durable((item, result)) {
                    *result = Err(error.clone());
                }
            }
        }
        for (item, _) in items.iter().zip(&results).filter(|(_, result)| result.is_ok()) {
            self.live.extend(item.lives().cloned());
            for id in item.is_over() {
                self.live.remove(id);
            }
        }
        results
    }

    /// The connection, made anew if there is none or if the log can't be trusted any more.
    fn sound_database(&mut self) -> Result<&mut Database, WriteError> {
        if let Ok(database) = &mut self.database {
            match database.standing() {
                Standing::Sound => {}
                Standing::Replaced(path) => return Err(WriteError::Replaced { path }),
                Standing::Renew => {
                    tracing::warn!("the register's log is gone or damaged; a new one is begun");
                    self.readers.clear();
                    database.empty_log()?;
                    self.database = Err(WriteError::Closed);
                }
            }
        }
        if self.database.is_err() {
            self.database = open::reopen(&self.path, &self.home_id, &self.flushes);
        }
        self.database.as_mut().map_err(|error| error.clone())
    }

    /// Drops some of the events that are too many.
    fn trim(&mut self) {
        let Some(mut trim) = self.rest.trims.pop_front() else { return };
        let path = self.path.clone();
        let dropped = self.sound_database().and_then(|database| {
            let failed = |error: rusqlite::Error| WriteError::from_sqlite(&path, &error);
            let connection = database.connection();
            let dropped = rows::drop_events(connection, trim.retention.max_events, DROP_AT_ONCE);
            let dropped = dropped.map_err(failed)?;
            let excess = rows::excess(connection, trim.retention.max_ended_sessions);
            let excess = excess.map_err(failed)?;
            if dropped > 0 {
                database.committed();
            }
            Ok((dropped, excess))
        });
        match dropped {
            Ok((DROP_AT_ONCE, _)) => {
                trim.dropped += DROP_AT_ONCE;
                self.rest.trims.push_front(trim);
            }
            Ok((dropped, excess)) => {
                let dropped_events = trim.dropped + dropped;
                drop(trim.reply.send(Ok(Retained { dropped_events, excess })));
            }
            Err(error) => drop(trim.reply.send(Err(error))),
        }
    }

    /// Leaves one whole file behind, if that is possible.
    fn close(mut self) {
        while !self.rest.trims.is_empty() {
            self.trim();
        }
        for late in self.commands.drain() {
            match late {
                Command::Write(item) => item.reply.send(Err(WriteError::Closed)),
                Command::Retain(_, reply) => drop(reply.send(Err(WriteError::Closed))),
                Command::Prove(reply) => drop(reply.send(Err(WriteError::Closed))),
                Command::Close => {}
            }
        }
        self.readers.clear();
        if let Ok(database) = self.database
            && let Err(error) = database.close()
        {
            tracing::warn!(%error, "the register could not be closed well; its log stays beside it");
        }
    }
}

/// Milliseconds since 1970.
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Writes those that have no error yet: together, or one by one if that fails.
fn put(
    database: &mut Database,
    path: &std::path::Path,
    items: &[Item],
    results: &mut [Result<Vec<u64>, WriteError>],
) {
    let open: Vec<usize> = (0..items.len()).filter(|index| results[*index].is_ok()).collect();
    if open.is_empty() {
        return;
    }
    let failed = |error: rusqlite::Error| WriteError::from_sqlite(path, &error);
    match transact(database.connection(), open.iter().map(|index| &items[*index])) {
        Ok(seqs) => {
            for (index, seqs) in open.into_iter().zip(seqs) {
                results[index] = Ok(seqs);
            }
            database.committed();
            return;
        }
        Err(Failure::Inside(_)) if open.len() > 1 => {}
        Err(Failure::Begin(error) | Failure::Inside(error)) => {
            let error = failed(error);
            open.into_iter().for_each(|index| results[index] = Err(error.clone()));
            return;
        }
    }
    let mut refusal = None;
    for index in open {
        if let Some(error) = &refusal {
            results[index] = Err(WriteError::clone(error));
            continue;
        }
        match transact(database.connection(), std::iter::once(&items[index])) {
            Ok(seqs) => {
                results[index] = Ok(seqs.into_iter().flatten().collect());
                database.committed();
            }
            Err(Failure::Inside(error)) => results[index] = Err(failed(error)),
            Err(Failure::Begin(error)) => {
                let error = failed(error);
                results[index] = Err(error.clone());
                refusal = Some(error);
            }
        }
    }
}

impl Rest {
    fn has_events(&self) -> bool {
        !self.events.is_empty() || self.lost > 0
    }

    /// The oldest first; then how many there were besides.
    fn take_events(&mut self) -> impl Iterator<Item = NewEvent> + use<> {
        let lost = std::mem::take(&mut self.lost);
        let word = (lost > 0).then(|| NewEvent {
            time_ms: now_ms(),
            session: None,
            kind: "events_lost".to_owned(),
            cause: format!("{lost} events could not be recorded"),
            by: None,
        });
        std::mem::take(&mut self.events).into_iter().chain(word)
    }

    fn keep(&mut self, events: Vec<NewEvent>) {
        self.events.extend(events);
        while self.events.len() > BACKLOG {
            self.events.pop_front();
            self.lost += 1;
        }
    }

    /// Logs when writing begins to fail, and when it no longer does; not each time.
    fn note(&mut self, error: Option<&WriteError>) {
        match error {
            Some(error) if !self.failing => {
                tracing::error!(%error, "the register can't be written")
            }
            None if self.failing => tracing::info!("the register can be written again"),
            _ => {}
        }
        self.failing = error.is_some();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Change;
    use crate::entry::EventQuery;

    fn writer(path: PathBuf) -> Writer {
        let flushes = Arc::default();
        let path = open::resolve(&path).unwrap();
        let ready = open::open(&path, "home", &flushes).unwrap();
        Writer {
            readers: Arc::new(Readers::new(path.clone())),
            path,
            home_id: "home".to_owned(),
            database: ready.database,
            commands: crate::queue::queue().1,
            live: HashSet::new(),
            latest_seq: watch::channel(0).0,
            flushes,
            on_commit: Box::new(|_| {}),
            rest: Rest::default(),
        }
    }

    fn event(kind: &str) -> NewEvent {
        let (kind, cause) = (kind.to_owned(), String::new());
        NewEvent { time_ms: 0, session: None, kind, cause, by: None }
    }

    fn commit(writer: &mut Writer, kind: &str, urgency: Urgency) -> Result<Vec<u64>, WriteError> {
        let (sender, mut answer) = oneshot::channel();
        let (change, reply) = (Change::None, Reply::Seqs(sender));
        writer.commit(vec![Item { change, events: vec![event(kind)], urgency, reply }]);
        answer.try_recv().unwrap()
    }

    fn kinds(writer: &Writer) -> Vec<String> {
        let query = EventQuery { since: 0, session: None, limit: 100 };
        writer.readers.events(&query).unwrap().into_iter().map(|event| event.kind).collect()
    }

    #[test]
    fn after_a_failed_flush_the_log_is_begun_anew() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = writer(folder.path().join("register.db"));
        commit(&mut writer, "a", Urgency::Durable).unwrap();
        assert_eq!(kinds(&writer), ["a"]);
        writer.database.as_mut().unwrap().break_flushes();
        let error = commit(&mut writer, "b", Urgency::Durable).unwrap_err();
        assert!(matches!(error, WriteError::NotFlushed { .. }), "{error}");
        assert_eq!(writer.database.as_ref().unwrap().standing(), Standing::Renew);
        commit(&mut writer, "c", Urgency::Durable).unwrap();
        assert_eq!(writer.database.as_ref().unwrap().standing(), Standing::Sound);
        assert_eq!(kinds(&writer), ["a", "b", "c"]);
    }

    #[test]
    fn nothing_is_written_to_a_log_with_a_hole_that_cant_be_emptied() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = writer(folder.path().join("register.db"));
        commit(&mut writer, "a", Urgency::Durable).unwrap();
        writer.database.as_mut().unwrap().break_flushes();
        commit(&mut writer, "b", Urgency::Durable).unwrap_err();
        // Somebody reads, so the log can't be emptied.
        let reader = rusqlite::Connection::open(&writer.path).unwrap();
        reader.execute_batch("BEGIN; SELECT count(*) FROM events").unwrap();
        let error = commit(&mut writer, "c", Urgency::Soon).unwrap_err();
        assert!(matches!(error, WriteError::Locked { .. }), "{error}");
        drop(reader);
        commit(&mut writer, "d", Urgency::Durable).unwrap();
        assert_eq!(kinds(&writer), ["a", "b", "d"]);
    }

    #[test]
    fn whether_it_takes_writes_is_tried_and_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = writer(folder.path().join("register.db"));
        writer.prove().unwrap();
        // Somebody else is writing, for longer than is waited for.
        let other = rusqlite::Connection::open(&writer.path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let error = writer.prove().unwrap_err();
        assert!(matches!(error, WriteError::Locked { .. }), "{error}");
        drop(other);
        writer.prove().unwrap();
        assert_eq!(kinds(&writer), [""; 0]);
    }

    #[test]
    fn what_is_written_is_counted_and_what_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = writer(folder.path().join("register.db"));
        let (sender, reports) = std::sync::mpsc::channel();
        writer.on_commit = Box::new(move |report| sender.send(report).unwrap());
        commit(&mut writer, "a", Urgency::Durable).unwrap();
        writer.database.as_mut().unwrap().break_flushes();
        commit(&mut writer, "b", Urgency::Durable).unwrap_err();
        let counts: Vec<_> = reports
            .try_iter()
            .map(|report| (report.recorded, report.failed, report.events))
            .collect();
        assert_eq!(counts, [(1, 0, 1), (0, 1, 0)]);
    }

    #[test]
    fn what_can_wait_waits_less_while_somebody_follows() {
        let folder = tempfile::tempdir().unwrap();
        let writer = writer(folder.path().join("register.db"));
        let _kept_for_those_who_come = writer.latest_seq.subscribe();
        assert_eq!(writer.company(), COMPANY);
        let follower = writer.latest_seq.subscribe();
        assert_eq!(writer.company(), COMPANY_WHEN_FOLLOWED);
        drop(follower);
        assert_eq!(writer.company(), COMPANY);
    }

    #[test]
    fn a_long_clean_up_is_done_in_parts() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = writer(folder.path().join("register.db"));
        writer.commit((0..12_000).map(|_| Item::event(event("tick"))).collect());
        let retention = Retention { max_events: 100, max_ended_sessions: 0 };
        let (reply, mut answer) = oneshot::channel();
        writer.rest.trims.push_back(Trim { retention, dropped: 0, reply });
        for _ in 0..2 {
            writer.trim();
            answer.try_recv().unwrap_err();
        }
        writer.trim();
        let retained = answer.try_recv().unwrap().unwrap();
        assert_eq!(retained.dropped_events, 11_900);
        assert!(writer.rest.trims.is_empty());
    }

    #[test]
    fn events_that_nobody_waits_for_are_kept_up_to_a_bound() {
        let mut rest = Rest::default();
        rest.keep((0..BACKLOG + 7).map(|number| event(&number.to_string())).collect());
        let kinds: Vec<_> = rest.take_events().map(|event| event.kind).collect();
        assert_eq!(kinds.len(), BACKLOG + 1);
        assert_eq!((kinds[0].as_str(), kinds[BACKLOG].as_str()), ("7", "events_lost"));
        assert!(!rest.has_events());
        assert_eq!(rest.take_events().count(), 0);
    }
}
