//! The register, as everybody else sees it.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use kennel_core::{EventView, Member, Phase, SessionId};
use tokio::sync::{oneshot, watch};

use crate::batch::{Call, Change, Item, Reply, Urgency};
use crate::entry::{
    CommitReport, Durability, EventPage, EventQuery, NewEvent, PlanRecord, Retained, Retention,
    Stored,
};
use crate::error::{OpenRegisterError, ReadError, WriteError};
use crate::open::{self, Contents, Ready};
use crate::queue::{Inlet, queue};
use crate::reader::Readers;
use crate::writer::{Command, Rest, Writer};

/// Resolves when what was asked for is done, or can't be.
pub type Answer<T> = oneshot::Receiver<Result<T, WriteError>>;

/// A handle on the register; clones are handles on the same one.
///
/// Writes are queued and carried out in order by one thread. Nothing here waits, but for [`events`] and
/// [`close`].
///
/// [`events`]: Register::events
/// [`close`]: Register::close
#[derive(Debug, Clone)]
pub struct Register {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    commands: Inlet,
    latest_seq: watch::Receiver<u64>,
    flushes: Arc<AtomicU64>,
    readers: Arc<Readers>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

/// What [`Register::open`] found.
#[derive(Debug)]
pub struct Opened {
    /// The handle.
    pub register: Register,
    /// All members.
    pub members: Vec<Member>,
    /// All plans, the oldest first.
    pub plans: Vec<PlanRecord>,
    /// All sessions on record, those that are over too; the oldest id first.
    pub sessions: Vec<Stored>,
    /// Whether it was made under another home's id: a copied folder. Stays so until [`Register::claim`].
    pub other_home: bool,
    /// The number of the newest event.
    pub last_seq: u64,
    /// Why nothing can be written for now, if so: the disk is full. It is tried again with each write.
    pub unwritable: Option<WriteError>,
}

impl Register {
    /// Opens the register, or makes one if there is none. Call [`refuse_network`](crate::refuse_network)
    /// before, and hold the daemon's lock.
    ///
    /// # Errors
    /// Anything is wrong with it; then it is left as it is. A full disk is an error only if there is no
    /// register yet or if it is of an older version: else what is on record is given, so that it can be
    /// looked after.
    pub fn open(path: &Path, home_id: &str) -> Result<Opened, OpenRegisterError> {
        Self::open_observed(path, home_id, |_| {})
    }

    /// Opens the register as [`Register::open`] does, and reports every commit to `on_commit`. The writing
    /// thread calls it, so it must not block.
    ///
    /// # Errors
    /// As for [`Register::open`].
    pub fn open_observed(
        path: &Path,
        home_id: &str,
        on_commit: impl Fn(CommitReport) + Send + 'static,
    ) -> Result<Opened, OpenRegisterError> {
        let path = open::resolve(path)?;
        let flushes = Arc::default();
        let Ready { database, contents } = open::open(&path, home_id, &flushes)?;
        let Contents { sessions, members, plans, other_home, last_seq } = contents;
        let unwritable = database.as_ref().err().cloned();
        let (inlet, outlet) = queue();
        let (seq_sender, latest_seq) = watch::channel(last_seq);
        let readers = Arc::new(Readers::new(path.clone()));
        let live = sessions.iter().filter(|stored| stored.session.phase != Phase::Cleaned);
        let writer = Writer {
            path: path.clone(),
            home_id: home_id.to_owned(),
            database,
            commands: outlet,
            live: live.map(|stored| stored.session.id.clone()).collect(),
            latest_seq: seq_sender,
            readers: Arc::clone(&readers),
            flushes: Arc::clone(&flushes),
            on_commit: Box::new(on_commit),
            rest: Rest::default(),
        };
        let thread = thread::Builder::new()
            .name("register".to_owned())
            .spawn(move || writer.run())
            .map_err(|error| OpenRegisterError::from_io(&path, "its thread", &error))?;
        let commands = inlet(thread.thread().clone());
        let writer = Mutex::new(Some(thread));
        let shared = Shared { commands, latest_seq, flushes, readers, writer };
        let register = Self { shared: Arc::new(shared) };
        Ok(Opened { register, sessions, members, plans, other_home, last_seq, unwritable })
    }

    /// Records a session as it is now, and what happened, together. The answer has the numbers of the
    /// events; it comes when they are committed, and for [`Durability::Durable`] when they are on the disk.
    pub fn save(
        &self,
        stored: Stored,
        events: Vec<NewEvent>,
        durability: Durability,
    ) -> Answer<Vec<u64>> {
        let (sender, answer) = oneshot::channel();
        self.put_down(stored, events, durability, Reply::Seqs(sender));
        answer
    }

    /// The same, for one who wants to be called by the thread that writes, in place of waiting: it must not wait
    /// for anything itself.
    pub fn save_then(
        &self,
        stored: Stored,
        events: Vec<NewEvent>,
        durability: Durability,
        then: impl FnOnce(Result<(), WriteError>) + Send + 'static,
    ) {
        self.put_down(stored, events, durability, Reply::Call(Call::new(then)));
    }

    fn put_down(
        &self,
        stored: Stored,
        events: Vec<NewEvent>,
        durability: Durability,
        reply: Reply,
    ) {
        let urgency = match durability {
            Durability::Durable => Urgency::Durable,
            Durability::Soon => Urgency::Soon,
        };
        let change = Change::Save(Box::new(stored));
        self.write(Item { change, events, urgency, reply });
    }

    /// Records a member as it is now; calls back as [`Register::save_then`] does.
    pub fn save_member(
        &self,
        member: Member,
        then: impl FnOnce(Result<(), WriteError>) + Send + 'static,
    ) {
        self.change_then(Change::SaveMember(Box::new(member)), then);
    }

    /// Removes a member from the record.
    pub fn remove_member(
        &self,
        name: &str,
        then: impl FnOnce(Result<(), WriteError>) + Send + 'static,
    ) {
        self.change_then(Change::RemoveMember(name.to_owned()), then);
    }

    /// Records a plan as it is now; calls back as [`Register::save_then`] does.
    pub fn save_plan(
        &self,
        plan: PlanRecord,
        then: impl FnOnce(Result<(), WriteError>) + Send + 'static,
    ) {
        self.change_then(Change::SavePlan(Box::new(plan)), then);
    }

    /// Removes a plan from the record. If that fails, the next daemon finds it, and removes it.
    pub fn remove_plan(&self, id: SessionId) {
        drop(self.change(Change::RemovePlan(id), Vec::new()));
    }

    fn change_then(
        &self,
        change: Change,
        then: impl FnOnce(Result<(), WriteError>) + Send + 'static,
    ) {
        let (events, reply) = (Vec::new(), Reply::Call(Call::new(then)));
        self.write(Item { change, events, urgency: Urgency::Durable, reply });
    }

    /// Records an event. If that fails it is kept in memory for a while and tried again.
    pub fn log(&self, event: NewEvent) {
        self.write(Item::event(event));
    }

    /// Removes sessions from the record. What happened to them stays in the log.
    pub fn remove(&self, ids: Vec<SessionId>, event: NewEvent) -> Answer<()> {
        self.change(Change::Remove(ids), vec![event])
    }

    /// Resolves when everything that was queued before is committed, so that whoever reads then sees it.
    pub fn catch_up(&self) -> Answer<()> {
        self.change(Change::None, Vec::new())
    }

    /// Makes the register this home's, after [`Opened::other_home`] was dealt with.
    pub fn claim(&self, home_id: &str) -> Answer<()> {
        self.change(Change::Claim(home_id.to_owned()), Vec::new())
    }

    /// Drops events beyond the bound, and tells which sessions are beyond theirs.
    pub fn retain(&self, retention: Retention) -> Answer<Retained> {
        let (sender, answer) = oneshot::channel();
        if let Err(unsent) = self.shared.commands.send(Command::Retain(retention, sender))
            && let Command::Retain(_, sender) = unsent.0
        {
            drop(sender.send(Err(WriteError::Closed)));
        }
        answer
    }

    /// Reads events, the oldest first. Blocks for a moment; never waits for a write.
    ///
    /// # Errors
    /// The register can't be read.
    pub fn events(&self, query: EventQuery) -> Result<Vec<EventView>, ReadError> {
        self.shared.readers.events(&query)
    }

    /// The same, with how far back there are any.
    ///
    /// # Errors
    /// The register can't be read.
    pub fn event_page(&self, query: &EventQuery) -> Result<EventPage, ReadError> {
        self.shared.readers.page(query)
    }

    /// The number of the newest event; moves after each commit that brings one.
    #[must_use]
    pub fn latest_seq(&self) -> watch::Receiver<u64> {
        self.shared.latest_seq.clone()
    }

    /// How often the disk was told to flush since the register was opened: our own flushes, and those that
    /// SQLite makes in checkpoints.
    #[must_use]
    pub fn flushes(&self) -> u64 {
        self.shared.flushes.load(Ordering::Relaxed)
    }

    /// Finds out whether it takes writes, with room for one more session, by one that changes nothing.
    pub fn prove(&self) -> Answer<()> {
        let (sender, answer) = oneshot::channel();
        if let Err(unsent) = self.shared.commands.send(Command::Prove(sender))
            && let Command::Prove(sender) = unsent.0
        {
            drop(sender.send(Err(WriteError::Closed)));
        }
        answer
    }

    /// Waits until everything that was queued is written. Whoever has a clone gets
    /// [`WriteError::Closed`] from now on.
    pub fn close(self) {
        // If it can't be sent, the thread has ended already.
        drop(self.shared.commands.send(Command::Close));
        let thread = self.shared.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the thread that writes the register has panicked");
        }
    }

    fn change(&self, change: Change, events: Vec<NewEvent>) -> Answer<()> {
        let (sender, answer) = oneshot::channel();
        let reply = Reply::Done(sender);
        self.write(Item { change, events, urgency: Urgency::Now, reply });
        answer
    }

    fn write(&self, item: Item) {
        if let Err(unsent) = self.shared.commands.send(Command::Write(item))
            && let Command::Write(item) = unsent.0
        {
            item.reply.send(Err(WriteError::Closed));
        }
    }
}
