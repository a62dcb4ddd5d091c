//! The handle that the daemon uses.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, JoinHandle};

use kennel_core::Member;
use kennel_types::{EventView, Phase, SessionId};
use tokio::sync::{oneshot, watch};

use crate::batch::{RecordChange, Reply, WriteRequest, WriteUrgency};
use crate::error::{OpenRegisterError, ReadError, WriteError};
use crate::open::{self, OpenDatabase, RegisterContents};
use crate::reader::ReadConnections;
use crate::record::{
    CommitReport, Durability, EventPage, EventQuery, NewEvent, PlanRecord, Retained, Retention,
    SessionRecord,
};
use crate::writer::{Backlog, RegisterWriter, WriterCommand};

/// Resolves when the write is done or has failed.
pub type PendingWrite<T> = oneshot::Receiver<Result<T, WriteError>>;

/// A handle on the register. Clones share the same register.
///
/// One thread executes the writes in the order in which they were queued. Only [`events`] and
/// [`close`] block.
///
/// [`events`]: Register::events
/// [`close`]: Register::close
#[derive(Debug, Clone)]
pub struct Register {
    shared: Arc<RegisterShared>,
}

#[derive(Debug)]
struct RegisterShared {
    commands: mpsc::Sender<WriterCommand>,
    latest_seq: watch::Receiver<u64>,
    flushes: Arc<AtomicU64>,
    readers: Arc<ReadConnections>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

/// The result of [`Register::open`].
#[derive(Debug)]
pub struct OpenedRegister {
    pub register: Register,
    pub members: Vec<Member>,
    /// All plans, oldest first.
    pub plans: Vec<PlanRecord>,
    /// All sessions on record, ended ones included, oldest id first.
    pub sessions: Vec<SessionRecord>,
    /// Whether the register was created for another home, so that this folder is a copy. True until
    /// [`Register::claim`].
    pub other_home: bool,
    /// The sequence number of the newest event.
    pub last_seq: u64,
    /// Why the register can't be written now (the disk is full). Every write tries again.
    pub unwritable: Option<WriteError>,
}

impl Register {
    /// Opens the register, or creates it. The caller has to call
    /// [`refuse_network`](crate::refuse_network) first and to hold the daemon's lock.
    ///
    /// # Errors
    /// See [`OpenRegisterError`]; the files stay unchanged. A full disk is an error only if there
    /// is no register yet: otherwise the sessions on record are returned, so that the daemon can
    /// still stop them.
    pub fn open(path: &Path, home_id: &str) -> Result<OpenedRegister, OpenRegisterError> {
        Self::open_observed(path, home_id, |_| {})
    }

    /// Opens the register as [`Register::open`] does, and reports every commit to `on_commit`. The
    /// writing thread calls it, so it must not block.
    ///
    /// # Errors
    /// As for [`Register::open`].
    pub fn open_observed(
        path: &Path,
        home_id: &str,
        on_commit: impl Fn(CommitReport) + Send + 'static,
    ) -> Result<OpenedRegister, OpenRegisterError> {
        let path = open::resolve(path)?;
        let flushes = Arc::default();
        let OpenDatabase { database, contents } = open::open(&path, home_id, &flushes)?;
        let RegisterContents { sessions, members, plans, other_home, last_seq } = contents;
        let unwritable = database.as_ref().err().cloned();
        let (commands, receiver) = mpsc::channel();
        let (seq_sender, latest_seq) = watch::channel(last_seq);
        let readers = Arc::new(ReadConnections::new(path.clone()));
        let live = sessions.iter().filter(|record| record.session.phase != Phase::Cleaned);
        let writer = RegisterWriter {
            path: path.clone(),
            home_id: home_id.to_owned(),
            database,
            commands: receiver,
            live: live.map(|record| record.session.id.clone()).collect(),
            latest_seq: seq_sender,
            readers: Arc::clone(&readers),
            flushes: Arc::clone(&flushes),
            on_commit: Box::new(on_commit),
            backlog: Backlog::default(),
        };
        let thread = thread::Builder::new()
            .name("register".to_owned())
            .spawn(move || writer.run())
            .map_err(|error| OpenRegisterError::from_io(&path, "its thread", &error))?;
        let writer = Mutex::new(Some(thread));
        let shared = RegisterShared { commands, latest_seq, flushes, readers, writer };
        let register = Self { shared: Arc::new(shared) };
        Ok(OpenedRegister { register, sessions, members, plans, other_home, last_seq, unwritable })
    }

    /// Records a session and its events in one transaction. Resolves to the sequence numbers of the
    /// events when they are committed, and with [`Durability::Durable`] when they are flushed.
    pub fn save(
        &self,
        record: SessionRecord,
        events: Vec<NewEvent>,
        durability: Durability,
    ) -> PendingWrite<Vec<u64>> {
        let (reply, pending) = pending();
        self.queue_save(record, events, durability, reply);
        pending
    }

    /// Records a session as [`Register::save`] does, and passes the result to `then`. The writing
    /// thread calls it, so it must not block.
    pub fn save_then(
        &self,
        record: SessionRecord,
        events: Vec<NewEvent>,
        durability: Durability,
        then: impl FnOnce(Result<(), WriteError>) + Send + 'static,
    ) {
        self.queue_save(record, events, durability, without_seqs(then));
    }

    fn queue_save(
        &self,
        record: SessionRecord,
        events: Vec<NewEvent>,
        durability: Durability,
        reply: Reply<Vec<u64>>,
    ) {
        let urgency = match durability {
            Durability::Durable => WriteUrgency::Durable,
            Durability::Soon => WriteUrgency::Soon,
        };
        let change = RecordChange::Save(Box::new(record));
        self.write(WriteRequest { change, events, urgency, reply: Some(reply) });
    }

    /// Records a member. Calls `then` as [`Register::save_then`] does.
    pub fn save_member(
        &self,
        member: Member,
        then: impl FnOnce(Result<(), WriteError>) + Send + 'static,
    ) {
        self.change_then(RecordChange::SaveMember(Box::new(member)), then);
    }

    /// Removes a member. Calls `then` as [`Register::save_then`] does.
    pub fn remove_member(
        &self,
        name: &str,
        then: impl FnOnce(Result<(), WriteError>) + Send + 'static,
    ) {
        self.change_then(RecordChange::RemoveMember(name.to_owned()), then);
    }

    /// Records a plan. Calls `then` as [`Register::save_then`] does.
    pub fn save_plan(
        &self,
        plan: PlanRecord,
        then: impl FnOnce(Result<(), WriteError>) + Send + 'static,
    ) {
        self.change_then(RecordChange::SavePlan(Box::new(plan)), then);
    }

    /// Removes a plan. If this fails, the next daemon removes it.
    pub fn remove_plan(&self, id: SessionId) {
        drop(self.change(RecordChange::RemovePlan(id), Vec::new()));
    }

    fn change_then(
        &self,
        change: RecordChange,
        then: impl FnOnce(Result<(), WriteError>) + Send + 'static,
    ) {
        let (events, reply) = (Vec::new(), Some(without_seqs(then)));
        self.write(WriteRequest { change, events, urgency: WriteUrgency::Durable, reply });
    }

    /// Records an event. If this fails, the event is kept in memory and retried.
    pub fn log(&self, event: NewEvent) {
        self.write(WriteRequest::event(event));
    }

    /// Removes sessions. Their events stay on record.
    pub fn remove(&self, ids: Vec<SessionId>, event: NewEvent) -> PendingWrite<()> {
        self.change(RecordChange::Remove(ids), vec![event])
    }

    /// Resolves when every write that was queued before is committed and visible to readers.
    pub fn catch_up(&self) -> PendingWrite<()> {
        self.change(RecordChange::None, Vec::new())
    }

    /// Makes this home the register's owner, after the caller handled
    /// [`OpenedRegister::other_home`].
    pub fn claim(&self, home_id: &str) -> PendingWrite<()> {
        self.change(RecordChange::Claim(home_id.to_owned()), Vec::new())
    }

    /// Deletes events beyond the limit, and resolves to the sessions beyond theirs.
    pub fn retain(&self, retention: Retention) -> PendingWrite<Retained> {
        let (reply, pending) = pending();
        self.send(WriterCommand::Retain(retention, reply));
        pending
    }

    /// Reads events, oldest first. Blocks on the disk, but never on a write.
    ///
    /// # Errors
    /// The register can't be read.
    pub fn events(&self, query: EventQuery) -> Result<Vec<EventView>, ReadError> {
        self.shared.readers.events(&query)
    }

    /// Reads events as [`Register::events`] does, with the start of the event log.
    ///
    /// # Errors
    /// The register can't be read.
    pub fn event_page(&self, query: &EventQuery) -> Result<EventPage, ReadError> {
        self.shared.readers.page(query)
    }

    /// Watches the sequence number of the newest event. It changes after each commit that adds
    /// events.
    #[must_use]
    pub fn latest_seq(&self) -> watch::Receiver<u64> {
        self.shared.latest_seq.clone()
    }

    /// Counts the flushes to the disk since the register was opened: those of durable writes, and
    /// those of SQLite's checkpoints.
    #[must_use]
    pub fn flushes(&self) -> u64 {
        self.shared.flushes.load(Ordering::Relaxed)
    }

    /// Checks that the register can be written and has space for one more session, with a write
    /// that changes nothing.
    pub fn check_writable(&self) -> PendingWrite<()> {
        let (reply, pending) = pending();
        self.send(WriterCommand::CheckWritable(reply));
        pending
    }

    /// Blocks until every queued write is done, and closes the database. Other clones get
    /// [`WriteError::Closed`] from now on.
    pub fn close(self) {
        self.send(WriterCommand::Close);
        let thread = self.shared.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the register's writing thread panicked");
        }
    }

    fn change(&self, change: RecordChange, events: Vec<NewEvent>) -> PendingWrite<()> {
        let (sender, pending) = oneshot::channel();
        let reply = Some(without_seqs(|result| drop(sender.send(result))));
        self.write(WriteRequest { change, events, urgency: WriteUrgency::Now, reply });
        pending
    }

    fn write(&self, request: WriteRequest) {
        self.send(WriterCommand::Write(request));
    }

    fn send(&self, command: WriterCommand) {
        // It fails if the writing thread has ended. Then its reply reports `WriteError::Closed`.
        drop(self.shared.commands.send(command));
    }
}

fn pending<T: Send + 'static>() -> (Reply<T>, PendingWrite<T>) {
    let (sender, pending) = oneshot::channel();
    // A receiver that was dropped is not an error.
    (Reply::new(|result| drop(sender.send(result))), pending)
}

fn without_seqs(then: impl FnOnce(Result<(), WriteError>) + Send + 'static) -> Reply<Vec<u64>> {
    Reply::new(|result| then(result.map(drop)))
}
