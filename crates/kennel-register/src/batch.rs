//! Write requests, and the transaction that commits many of them together.

use std::collections::HashMap;
use std::fmt;

use kennel_core::Member;
use kennel_types::{Phase, SessionId};
use rusqlite::Connection;

use crate::error::WriteError;
use crate::record::{NewEvent, PlanRecord, SessionRecord};
use crate::rows;

/// One write as a caller requested it.
#[derive(Debug)]
pub(crate) struct WriteRequest {
    pub(crate) change: RecordChange,
    pub(crate) events: Vec<NewEvent>,
    pub(crate) urgency: WriteUrgency,
    /// Receives the sequence numbers of the events. If there is none, failed events are retried.
    pub(crate) reply: Option<Reply<Vec<u64>>>,
}

#[derive(Debug)]
pub(crate) enum RecordChange {
    /// Only events are added.
    None,
    Save(Box<SessionRecord>),
    Remove(Vec<SessionId>),
    /// Makes this home the register's owner.
    Claim(String),
    SaveMember(Box<Member>),
    RemoveMember(String),
    SavePlan(Box<PlanRecord>),
    RemovePlan(SessionId),
}

/// How soon a write is committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WriteUrgency {
    /// After a short delay, together with other writes.
    Soon,
    Now,
    /// Now, and flushed to the disk before the reply.
    Durable,
}

/// Receives the result of a command on the writing thread. It is always called: dropping it reports
/// [`WriteError::Closed`].
pub(crate) struct Reply<T>(Option<Box<DynReply<T>>>);

type DynReply<T> = dyn FnOnce(Result<T, WriteError>) + Send;

impl<T> Reply<T> {
    pub(crate) fn new(callback: impl FnOnce(Result<T, WriteError>) + Send + 'static) -> Self {
        Self(Some(Box::new(callback)))
    }

    pub(crate) fn send(mut self, result: Result<T, WriteError>) {
        if let Some(callback) = self.0.take() {
            callback(result);
        }
    }
}

impl<T> Drop for Reply<T> {
    fn drop(&mut self) {
        if let Some(callback) = self.0.take() {
            callback(Err(WriteError::Closed));
        }
    }
}

impl<T> fmt::Debug for Reply<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reply")
    }
}

impl WriteRequest {
    /// Adds an event; its caller waits for no reply.
    pub(crate) fn event(event: NewEvent) -> Self {
        let (change, events) = (RecordChange::None, vec![event]);
        Self { change, events, urgency: WriteUrgency::Soon, reply: None }
    }

    /// Returns the session that this request saves, if it is not cleaned yet.
    pub(crate) fn live_session(&self) -> Option<&SessionId> {
        match &self.change {
            RecordChange::Save(record) if record.session.phase != Phase::Cleaned => {
                Some(&record.session.id)
            }
            _ => None,
        }
    }

    /// Returns the sessions that need no further writes after this request.
    pub(crate) fn ended_sessions(&self) -> &[SessionId] {
        match &self.change {
            RecordChange::Save(record) if record.session.phase == Phase::Cleaned => {
                std::slice::from_ref(&record.session.id)
            }
            RecordChange::Remove(ids) => ids,
            _ => &[],
        }
    }

    fn saved_session(&self) -> Option<&SessionId> {
        match &self.change {
            RecordChange::Save(record) => Some(&record.session.id),
            _ => None,
        }
    }

    fn write(&self, connection: &Connection, superseded: bool) -> rusqlite::Result<Vec<u64>> {
        match &self.change {
            RecordChange::None => {}
            RecordChange::Save(_) if superseded => {}
            RecordChange::Save(record) => rows::save(connection, record)?,
            RecordChange::Remove(ids) => {
                ids.iter().try_for_each(|id| rows::remove(connection, id))?;
            }
            RecordChange::Claim(home_id) => rows::claim(connection, home_id)?,
            RecordChange::SaveMember(member) => rows::save_member(connection, member)?,
            RecordChange::RemoveMember(name) => rows::remove_member(connection, name)?,
            RecordChange::SavePlan(plan) => rows::save_plan(connection, plan)?,
            RecordChange::RemovePlan(id) => rows::remove_plan(connection, id)?,
        }
        self.events.iter().map(|event| rows::add_event(connection, event)).collect()
    }
}

/// A transaction failed, and nothing of it was written.
#[derive(Debug)]
pub(crate) enum TransactionError {
    /// It did not begin, so another transaction would fail as well.
    Begin(rusqlite::Error),
    /// A request, or the commit, failed.
    Inside(rusqlite::Error),
}

/// Writes all requests in one transaction, or none. Returns the sequence numbers of each request's
/// events.
pub(crate) fn transact<'a>(
    connection: &Connection,
    requests: impl Iterator<Item = &'a WriteRequest>,
) -> Result<Vec<Vec<u64>>, TransactionError> {
    let transaction = WriteTransaction::begin(connection).map_err(TransactionError::Begin)?;
    let requests: Vec<_> = requests.collect();
    // Only the last save of a session's row is written, unless a session may be removed in between.
    let removes = requests.iter().any(|it| matches!(it.change, RecordChange::Remove(_)));
    let saves = requests.iter().enumerate();
    let saves = saves.filter_map(|(index, request)| Some((request.saved_session()?, index)));
    let last: HashMap<&SessionId, usize> = if removes { HashMap::new() } else { saves.collect() };
    let superseded = |index: usize| {
        let last = requests[index].saved_session().and_then(|id| last.get(id));
        last.is_some_and(|last| *last > index)
    };
    let written = requests.iter().enumerate();
    let seqs: rusqlite::Result<Vec<_>> =
        written.map(|(index, request)| request.write(connection, superseded(index))).collect();
    let seqs = seqs.map_err(TransactionError::Inside)?;
    transaction.commit().map_err(TransactionError::Inside)?;
    Ok(seqs)
}

/// A transaction with cached `BEGIN` and `COMMIT` statements; rolled back unless committed.
struct WriteTransaction<'a>(&'a Connection);

impl<'a> WriteTransaction<'a> {
    fn begin(connection: &'a Connection) -> rusqlite::Result<Self> {
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        Ok(Self(connection))
    }

    fn commit(self) -> rusqlite::Result<()> {
        self.0.prepare_cached("COMMIT")?.execute([]).map(drop)
    }
}

impl Drop for WriteTransaction<'_> {
    fn drop(&mut self) {
        // A successful commit has ended the transaction, and so have some errors.
        if !self.0.is_autocommit()
            && let Err(error) = self.0.execute_batch("ROLLBACK")
        {
            tracing::error!(%error, "can't roll back a transaction of the register");
        }
    }
}
