//! The writing thread.
//!
//! ```text
//!       ┌────────────────────────────────────────────────────────────────────┐
//!       v                                                                    │
//!     wait ── command ──> collect (durable: the queue; else up to 50 ms) ──> commit, flush, reply
//!       └── idle ──> maintenance: delete old events, extend the WAL, checkpoint
//! ```

use std::collections::{HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use kennel_types::SessionId;
use tokio::sync::watch;

use crate::batch::{Reply, TransactionError, WriteRequest, WriteUrgency, transact};
use crate::database::Database;
use crate::error::WriteError;
use crate::open;
use crate::reader::ReadConnections;
use crate::record::{CommitReport, NewEvent, Retained, Retention};
use crate::rows;
use crate::wal::WalHealth;

/// How long a write that isn't durable waits for others, to be committed together.
const BATCH_DELAY: Duration = Duration::from_millis(50);
/// The delay while a client follows the events, because it sees an event only after its commit.
const BATCH_DELAY_WHEN_FOLLOWED: Duration = Duration::from_millis(2);
/// Maintenance starts after this idle time.
const IDLE: Duration = Duration::from_millis(100);
/// How often the events of the backlog are retried if there is no other write.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);
/// The maximum number of events in the backlog.
const MAX_BACKLOG: usize = 1000;
/// The maximum number of requests in a transaction.
const MAX_BATCH: usize = 512;
/// How many events one transaction deletes, so that other writes don't wait long.
const DELETE_BATCH: u64 = 5000;

#[derive(Debug)]
pub(crate) enum WriterCommand {
    Write(WriteRequest),
    Retain(Retention, Reply<Retained>),
    CheckWritable(Reply<()>),
    Close,
}

/// Called after each commit.
pub(crate) type OnCommit = Box<dyn Fn(CommitReport) + Send>;

/// The state of the thread.
pub(crate) struct RegisterWriter {
    pub(crate) path: PathBuf,
    pub(crate) home_id: String,
    /// The writing connection, or why it could not be opened.
    pub(crate) database: Result<Database, WriteError>,
    pub(crate) commands: Receiver<WriterCommand>,
    /// Sessions whose end is not recorded yet; the WAL has space reserved for them.
    pub(crate) live: HashSet<SessionId>,
    pub(crate) latest_seq: watch::Sender<u64>,
    pub(crate) readers: Arc<ReadConnections>,
    pub(crate) flushes: Arc<AtomicU64>,
    pub(crate) on_commit: OnCommit,
    pub(crate) backlog: Backlog,
}

/// Work that is not done yet.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    /// Events whose write failed and is retried.
    events: VecDeque<NewEvent>,
    /// How many events were discarded because there were too many.
    lost: u64,
    failing: bool,
    retentions: VecDeque<PendingRetention>,
}

/// A retention that deletes events in several transactions.
#[derive(Debug)]
struct PendingRetention {
    retention: Retention,
    deleted: u64,
    reply: Reply<Retained>,
}

#[derive(Debug, Default)]
struct WriteBatch {
    requests: Vec<WriteRequest>,
    urgent: bool,
    closing: bool,
}

impl RegisterWriter {
    /// Runs until [`WriterCommand::Close`], or until the last handle is dropped.
    pub(crate) fn run(mut self) {
        loop {
            let batch = self.collect();
            self.commit(batch.requests);
            if batch.closing {
                break;
            }
            if let Ok(database) = &mut self.database
                && database.is_checkpoint_overdue()
            {
                database.maintain();
            }
        }
        self.close();
    }

    fn collect(&mut self) -> WriteBatch {
        let mut batch = WriteBatch::default();
        match self.wait() {
            Some(command) => self.accept(command, &mut batch),
            None => return batch,
        }
        let deadline = Instant::now() + self.batch_delay();
        while batch.requests.len() < MAX_BATCH && !batch.closing {
            let next = if batch.urgent || batch.requests.is_empty() {
                self.commands.try_recv()
            } else {
                let left = deadline.saturating_duration_since(Instant::now());
                self.commands.recv_timeout(left).map_err(|error| match error {
                    RecvTimeoutError::Timeout => TryRecvError::Empty,
                    RecvTimeoutError::Disconnected => TryRecvError::Disconnected,
                })
            };
            match next {
                Ok(command) => self.accept(command, &mut batch),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => batch.closing = true,
            }
        }
        batch
    }

    fn batch_delay(&self) -> Duration {
        // The handle itself keeps one receiver.
        let followed = self.latest_seq.receiver_count() > 1;
        if followed { BATCH_DELAY_WHEN_FOLLOWED } else { BATCH_DELAY }
    }

    /// Returns the next command, and does maintenance while idle. Returns `None` when the backlog
    /// is to be retried.
    fn wait(&mut self) -> Option<WriterCommand> {
        loop {
            let maintenance = self.database.as_ref().is_ok_and(Database::needs_maintenance);
            let timeout = match () {
                () if !self.backlog.retentions.is_empty() => Some(Duration::ZERO),
                () if maintenance => Some(IDLE),
                () if self.backlog.has_events() => Some(RETRY_INTERVAL),
                () => None,
            };
            let next = match timeout {
                Some(timeout) => self.commands.recv_timeout(timeout),
                None => self.commands.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match next {
                Ok(command) => return Some(command),
                Err(RecvTimeoutError::Disconnected) => return Some(WriterCommand::Close),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if !self.backlog.retentions.is_empty() {
                self.continue_retention();
            } else if !maintenance {
                return None;
            } else if let Ok(database) = &mut self.database {
                database.maintain();
            }
        }
    }

    fn accept(&mut self, command: WriterCommand, batch: &mut WriteBatch) {
        match command {
            WriterCommand::Write(request) => {
                batch.urgent |= request.urgency > WriteUrgency::Soon;
                batch.requests.push(request);
            }
            WriterCommand::Retain(retention, reply) => {
                let pending = PendingRetention { retention, deleted: 0, reply };
                self.backlog.retentions.push_back(pending);
            }
            WriterCommand::CheckWritable(reply) => reply.send(self.check_writable()),
            WriterCommand::Close => batch.closing = true,
        }
    }

    /// Writes the requests and the backlog, and replies.
    fn commit(&mut self, mut requests: Vec<WriteRequest>) {
        requests.splice(0..0, self.backlog.take_events().map(WriteRequest::event));
        if requests.is_empty() {
            return;
        }
        let start = Instant::now();
        let results = self.write(&requests);
        self.report(start.elapsed(), &results);
        self.backlog.log_health(results.iter().find_map(|result| result.as_ref().err()));
        let newest = results.iter().flatten().flatten().max().copied();
        if let Some(newest) = newest {
            self.latest_seq.send_replace(newest);
        }
        for (request, result) in requests.into_iter().zip(results) {
            match (request.reply, result) {
                (Some(reply), result) => reply.send(result),
                (None, Err(_)) => self.backlog.keep(request.events),
                (None, Ok(_)) => {}
            }
        }
    }

    fn report(&self, took: Duration, results: &[Result<Vec<u64>, WriteError>]) {
        let failed = results.iter().filter(|result| result.is_err()).count() as u64;
        let recorded = results.len() as u64 - failed;
        let events = results.iter().flatten().map(|seqs| seqs.len() as u64).sum();
        (self.on_commit)(CommitReport { took, recorded, failed, events });
    }

    /// Checks that a new session could be recorded: there is space for all its writes, and a write
    /// that changes nothing succeeds.
    fn check_writable(&mut self) -> Result<(), WriteError> {
        let (path, home_id, expected) =
            (self.path.clone(), self.home_id.clone(), self.live.len() + 1);
        let database = self.healthy_database()?;
        database.reserve_space(expected)?;
        let failed = |error: rusqlite::Error| WriteError::from_sqlite(&path, &error);
        rows::claim(database.connection(), &home_id).map_err(failed)?;
        database.after_commit();
        Ok(())
    }

    fn write(&mut self, requests: &[WriteRequest]) -> Vec<Result<Vec<u64>, WriteError>> {
        let Self { path, live, .. } = &*self;
        let new_sessions = requests.iter().filter_map(WriteRequest::live_session);
        let new_sessions: HashSet<_> =
            new_sessions.filter(|id| !live.contains(id)).cloned().collect();
        let (path, expected) = (path.clone(), live.len() + new_sessions.len());
        let database = match self.healthy_database() {
            Ok(database) => database,
            Err(error) => return vec![Err(error); requests.len()],
        };
        let mut results: Vec<_> = requests.iter().map(|_| Ok(Vec::new())).collect();
        if !new_sessions.is_empty()
            && let Err(error) = database.reserve_space(expected)
        {
            // Space is reserved for the known sessions; new ones are refused.
            for (request, result) in requests.iter().zip(&mut results) {
                if request.live_session().is_some_and(|id| new_sessions.contains(id)) {
                    *result = Err(error.clone());
                }
            }
        }
        write_all(database, &path, requests, &mut results);
        let durable = |(request, result): (&WriteRequest, &Result<_, _>)| {
            request.urgency == WriteUrgency::Durable && result.is_ok()
        };
        if requests.iter().zip(&results).any(durable)
            && let Err(error) = database.flush()
        {
            for (request, result) in requests.iter().zip(&mut results) {
                if durable((request, result)) {
                    *result = Err(error.clone());
                }
            }
        }
        for (request, _) in requests.iter().zip(&results).filter(|(_, result)| result.is_ok()) {
            self.live.extend(request.live_session().cloned());
            for id in request.ended_sessions() {
                self.live.remove(id);
            }
        }
        results
    }

    /// Returns the connection. Opens a new one if there is none, or if the WAL is removed or
    /// incomplete.
    fn healthy_database(&mut self) -> Result<&mut Database, WriteError> {
        if let Ok(database) = &mut self.database {
            match database.wal_health() {
                WalHealth::Good => {}
                WalHealth::Replaced(path) => return Err(WriteError::Replaced { path }),
                WalHealth::NeedsReopen => {
                    tracing::warn!(
                        "the register's WAL was removed or could not be flushed; starting a new one"
                    );
                    self.readers.clear();
                    database.empty_wal()?;
                    self.database = Err(WriteError::Closed);
                }
            }
        }
        if self.database.is_err() {
            self.database = open::reopen(&self.path, &self.home_id, &self.flushes);
        }
        self.database.as_mut().map_err(|error| error.clone())
    }

    /// Deletes one batch of events beyond the limit.
    fn continue_retention(&mut self) {
        let Some(mut pending) = self.backlog.retentions.pop_front() else { return };
        let path = self.path.clone();
        let deleted = self.healthy_database().and_then(|database| {
            let failed = |error: rusqlite::Error| WriteError::from_sqlite(&path, &error);
            let connection = database.connection();
            let max = pending.retention.max_events;
            let deleted = rows::delete_events(connection, max, DELETE_BATCH).map_err(failed)?;
            let excess = rows::excess(connection, pending.retention.max_ended_sessions);
            let excess = excess.map_err(failed)?;
            if deleted > 0 {
                database.after_commit();
            }
            Ok((deleted, excess))
        });
        match deleted {
            Ok((DELETE_BATCH, _)) => {
                pending.deleted += DELETE_BATCH;
                self.backlog.retentions.push_front(pending);
            }
            Ok((deleted, excess)) => {
                let dropped_events = pending.deleted + deleted;
                pending.reply.send(Ok(Retained { dropped_events, excess }));
            }
            Err(error) => pending.reply.send(Err(error)),
        }
    }

    /// Finishes the retentions and closes the database, which checkpoints the WAL into one file if
    /// possible.
    fn close(mut self) {
        while !self.backlog.retentions.is_empty() {
            self.continue_retention();
        }
        // The commands that are left get `WriteError::Closed`.
        drop(self.commands);
        self.readers.clear();
        if let Ok(database) = self.database
            && let Err(error) = database.close()
        {
            tracing::warn!(%error, "can't close the register cleanly; its -wal file stays");
        }
    }
}

/// Milliseconds since 1970.
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Writes the requests that have no error yet: in one transaction, or one by one if that fails.
fn write_all(
    database: &mut Database,
    path: &std::path::Path,
    requests: &[WriteRequest],
    results: &mut [Result<Vec<u64>, WriteError>],
) {
    let pending: Vec<usize> = (0..requests.len()).filter(|it| results[*it].is_ok()).collect();
    if pending.is_empty() {
        return;
    }
    let failed = |error: rusqlite::Error| WriteError::from_sqlite(path, &error);
    match transact(database.connection(), pending.iter().map(|index| &requests[*index])) {
        Ok(seqs) => {
            for (index, seqs) in pending.into_iter().zip(seqs) {
                results[index] = Ok(seqs);
            }
            database.after_commit();
            return;
        }
        Err(TransactionError::Inside(_)) if pending.len() > 1 => {}
        Err(TransactionError::Begin(error) | TransactionError::Inside(error)) => {
            let error = failed(error);
            pending.into_iter().for_each(|index| results[index] = Err(error.clone()));
            return;
        }
    }
    let mut begin_error: Option<WriteError> = None;
    for index in pending {
        if let Some(error) = &begin_error {
            results[index] = Err(error.clone());
            continue;
        }
        results[index] = match transact(database.connection(), [&requests[index]].into_iter()) {
            Ok(seqs) => {
                database.after_commit();
                Ok(seqs.concat())
            }
            Err(TransactionError::Inside(error)) => Err(failed(error)),
            Err(TransactionError::Begin(error)) => Err(begin_error.insert(failed(error)).clone()),
        };
    }
}

impl Backlog {
    fn has_events(&self) -> bool {
        !self.events.is_empty() || self.lost > 0
    }

    /// Takes the events, oldest first, followed by one that counts the discarded ones.
    fn take_events(&mut self) -> impl Iterator<Item = NewEvent> + use<> {
        let lost = std::mem::take(&mut self.lost);
        let notice = (lost > 0).then(|| NewEvent {
            time_ms: now_ms(),
            session: None,
            kind: "events_lost".to_owned(),
            cause: format!("{lost} events could not be recorded"),
            by: None,
        });
        std::mem::take(&mut self.events).into_iter().chain(notice)
    }

    fn keep(&mut self, events: Vec<NewEvent>) {
        self.events.extend(events);
        while self.events.len() > MAX_BACKLOG {
            self.events.pop_front();
            self.lost += 1;
        }
    }

    /// Logs when writes start to fail and when they succeed again, not every failure.
    fn log_health(&mut self, error: Option<&WriteError>) {
        match error {
            Some(error) if !self.failing => {
                tracing::error!(%error, "can't write the register")
            }
            None if self.failing => tracing::info!("the register is writable again"),
            _ => {}
        }
        self.failing = error.is_some();
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;
    use crate::batch::RecordChange;
    use crate::record::EventQuery;

    fn writer(path: PathBuf) -> RegisterWriter {
        let flushes = Arc::default();
        let path = open::resolve(&path).unwrap();
        let ready = open::open(&path, "home", &flushes).unwrap();
        RegisterWriter {
            readers: Arc::new(ReadConnections::new(path.clone())),
            path,
            home_id: "home".to_owned(),
            database: ready.database,
            commands: std::sync::mpsc::channel().1,
            live: HashSet::new(),
            latest_seq: watch::channel(0).0,
            flushes,
            on_commit: Box::new(|_| {}),
            backlog: Backlog::default(),
        }
    }

    fn event(kind: &str) -> NewEvent {
        let (kind, cause) = (kind.to_owned(), String::new());
        NewEvent { time_ms: 0, session: None, kind, cause, by: None }
    }

    fn commit(
        writer: &mut RegisterWriter,
        kind: &str,
        urgency: WriteUrgency,
    ) -> Result<Vec<u64>, WriteError> {
        let (sender, mut answer) = oneshot::channel();
        let reply = Some(Reply::new(|result| drop(sender.send(result))));
        let (change, events) = (RecordChange::None, vec![event(kind)]);
        writer.commit(vec![WriteRequest { change, events, urgency, reply }]);
        answer.try_recv().unwrap()
    }

    fn kinds(writer: &RegisterWriter) -> Vec<String> {
        let query = EventQuery { since: 0, session: None, limit: 100 };
        writer.readers.events(&query).unwrap().into_iter().map(|event| event.kind).collect()
    }

    #[test]
    fn starts_a_new_wal_after_a_failed_flush() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = writer(folder.path().join("register.db"));
        commit(&mut writer, "a", WriteUrgency::Durable).unwrap();
        assert_eq!(kinds(&writer), ["a"]);
        writer.database.as_mut().unwrap().break_flushes();
        let error = commit(&mut writer, "b", WriteUrgency::Durable).unwrap_err();
        assert!(matches!(error, WriteError::NotFlushed { .. }), "{error}");
        assert_eq!(writer.database.as_ref().unwrap().wal_health(), WalHealth::NeedsReopen);
        commit(&mut writer, "c", WriteUrgency::Durable).unwrap();
        assert_eq!(writer.database.as_ref().unwrap().wal_health(), WalHealth::Good);
        assert_eq!(kinds(&writer), ["a", "b", "c"]);
    }

    #[test]
    fn refuses_writes_while_an_unflushed_wal_cant_be_emptied() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = writer(folder.path().join("register.db"));
        commit(&mut writer, "a", WriteUrgency::Durable).unwrap();
        writer.database.as_mut().unwrap().break_flushes();
        commit(&mut writer, "b", WriteUrgency::Durable).unwrap_err();
        // A reader keeps the WAL from being emptied.
        let reader = rusqlite::Connection::open(&writer.path).unwrap();
        reader.execute_batch("BEGIN; SELECT count(*) FROM events").unwrap();
        let error = commit(&mut writer, "c", WriteUrgency::Soon).unwrap_err();
        assert!(matches!(error, WriteError::Locked { .. }), "{error}");
        drop(reader);
        commit(&mut writer, "d", WriteUrgency::Durable).unwrap();
        assert_eq!(kinds(&writer), ["a", "b", "d"]);
    }

    #[test]
    fn checking_for_writability_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = writer(folder.path().join("register.db"));
        writer.check_writable().unwrap();
        // Another connection writes for longer than the busy timeout.
        let other = rusqlite::Connection::open(&writer.path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let error = writer.check_writable().unwrap_err();
        assert!(matches!(error, WriteError::Locked { .. }), "{error}");
        drop(other);
        writer.check_writable().unwrap();
        assert_eq!(kinds(&writer), [""; 0]);
    }

    #[test]
    fn reports_recorded_and_failed_writes() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = writer(folder.path().join("register.db"));
        let (sender, reports) = std::sync::mpsc::channel();
        writer.on_commit = Box::new(move |report| sender.send(report).unwrap());
        commit(&mut writer, "a", WriteUrgency::Durable).unwrap();
        writer.database.as_mut().unwrap().break_flushes();
        commit(&mut writer, "b", WriteUrgency::Durable).unwrap_err();
        let counts: Vec<_> = reports
            .try_iter()
            .map(|report| (report.recorded, report.failed, report.events))
            .collect();
        assert_eq!(counts, [(1, 0, 1), (0, 1, 0)]);
    }

    #[test]
    fn batches_for_a_shorter_time_while_events_are_followed() {
        let folder = tempfile::tempdir().unwrap();
        let writer = writer(folder.path().join("register.db"));
        let _kept_by_the_handle = writer.latest_seq.subscribe();
        assert_eq!(writer.batch_delay(), BATCH_DELAY);
        let follower = writer.latest_seq.subscribe();
        assert_eq!(writer.batch_delay(), BATCH_DELAY_WHEN_FOLLOWED);
        drop(follower);
        assert_eq!(writer.batch_delay(), BATCH_DELAY);
    }

    #[test]
    fn deletes_many_events_in_batches() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = writer(folder.path().join("register.db"));
        writer.commit((0..12_000).map(|_| WriteRequest::event(event("tick"))).collect());
        let retention = Retention { max_events: 100, max_ended_sessions: 0 };
        let (sender, mut answer) = oneshot::channel();
        let reply = Reply::new(|result| drop(sender.send(result)));
        writer.backlog.retentions.push_back(PendingRetention { retention, deleted: 0, reply });
        for _ in 0..2 {
            writer.continue_retention();
            answer.try_recv().unwrap_err();
        }
        writer.continue_retention();
        let retained = answer.try_recv().unwrap().unwrap();
        assert_eq!(retained.dropped_events, 11_900);
        assert!(writer.backlog.retentions.is_empty());
    }

    #[test]
    fn keeps_a_limited_number_of_unwritten_events() {
        let mut backlog = Backlog::default();
        backlog.keep((0..MAX_BACKLOG + 7).map(|number| event(&number.to_string())).collect());
        let kinds: Vec<_> = backlog.take_events().map(|event| event.kind).collect();
        assert_eq!(kinds.len(), MAX_BACKLOG + 1);
        assert_eq!((kinds[0].as_str(), kinds[MAX_BACKLOG].as_str()), ("7", "events_lost"));
        assert!(!backlog.has_events());
        assert_eq!(backlog.take_events().count(), 0);
    }
}
