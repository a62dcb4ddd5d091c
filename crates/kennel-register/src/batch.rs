//! What is written together: many wishes, one transaction.

use std::collections::HashMap;
use std::fmt;

use kennel_core::{Member, Phase, SessionId};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::entry::{NewEvent, PlanRecord, Stored};
use crate::error::WriteError;
use crate::rows;

/// One wish.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) change: Change,
    pub(crate) events: Vec<NewEvent>,
    pub(crate) urgency: Urgency,
    pub(crate) reply: Reply,
}

/// What is to become of the rows.
#[derive(Debug)]
pub(crate) enum Change {
    /// Nothing: only events.
    None,
    /// This session is as follows.
    Save(Box<Stored>),
    /// These sessions are forgotten.
    Remove(Vec<SessionId>),
    /// The register is this home's.
    Claim(String),
    /// This member is as follows.
    SaveMember(Box<Member>),
    /// This member is forgotten.
    RemoveMember(String),
    /// This plan is as follows.
    SavePlan(Box<PlanRecord>),
    /// This plan is forgotten.
    RemovePlan(SessionId),
}

/// When it is committed, and what that means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Urgency {
    /// With others, if some come in time.
    Soon,
    /// Now.
    Now,
    /// Now, and flushed.
    Durable,
}

/// Who wants to hear of it. A receiver that is gone is no error: whoever asked may vanish.
#[derive(Debug)]
pub(crate) enum Reply {
    Nobody,
    Seqs(oneshot::Sender<Result<Vec<u64>, WriteError>>),
    Done(oneshot::Sender<Result<(), WriteError>>),
    Call(Call),
}

/// What is called with the answer, by the thread that writes. It is called in any case.
pub(crate) struct Call(Option<Box<Callback>>);

type Callback = dyn FnOnce(Result<(), WriteError>) + Send;

impl Call {
    pub(crate) fn new(callback: impl FnOnce(Result<(), WriteError>) + Send + 'static) -> Self {
        Self(Some(Box::new(callback)))
    }

    fn answer(mut self, result: Result<(), WriteError>) {
        if let Some(callback) = self.0.take() {
            callback(result);
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if let Some(callback) = self.0.take() {
            callback(Err(WriteError::Closed));
        }
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Call")
    }
}

impl Reply {
    pub(crate) fn send(self, result: Result<Vec<u64>, WriteError>) {
        match self {
            Self::Nobody => {}
            Self::Seqs(sender) => drop(sender.send(result)),
            Self::Done(sender) => drop(sender.send(result.map(drop))),
            Self::Call(call) => call.answer(result.map(drop)),
        }
    }
}

impl Item {
    /// An event that nobody waits for.
    pub(crate) fn event(event: NewEvent) -> Self {
        let events = vec![event];
        Self { change: Change::None, events, urgency: Urgency::Soon, reply: Reply::Nobody }
    }

    /// The session that lives from now on, if one is saved that does.
    pub(crate) fn lives(&self) -> Option<&SessionId> {
        match &self.change {
            Change::Save(stored) if stored.session.phase != Phase::Cleaned => {
                Some(&stored.session.id)
            }
            _ => None,
        }
    }

    /// The sessions that have nothing more to tell from now on.
    pub(crate) fn is_over(&self) -> &[SessionId] {
        match &self.change {
            Change::Save(stored) if stored.session.phase == Phase::Cleaned => {
                std::slice::from_ref(&stored.session.id)
            }
            Change::Remove(ids) => ids,
            _ => &[],
        }
    }

    /// Which session's row this leaves as it says, if no later one says otherwise.
    fn saves(&self) -> Option<&SessionId> {
        match &self.change {
            Change::Save(stored) => Some(&stored.session.id),
            _ => None,
        }
    }

    fn write(&self, connection: &Connection, outdated: bool) -> rusqlite::Result<Vec<u64>> {
        match &self.change {
            Change::None => {}
            Change::Save(_) if outdated => {}
            Change::Save(stored) => rows::save(connection, stored)?,
            Change::Remove(ids) => ids.iter().try_for_each(|id| rows::remove(connection, id))?,
            Change::Claim(home_id) => rows::claim(connection, home_id)?,
            Change::SaveMember(member) => rows::save_member(connection, member)?,
            Change::SavePlan(plan) => rows::save_plan(connection, plan)?,
            Change::RemovePlan(id) => rows::remove_plan(connection, id)?,
            Change::RemoveMember(name) => rows::remove_member(connection, name)?,
        }
        self.events.iter().map(|event| rows::add_event(connection, event)).collect()
    }
}

/// Nothing of a transaction was written.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It did not even begin: others would fare no better.
    Begin(rusqlite::Error),
    /// One of its items, or all of them together, were too much.
    Inside(rusqlite::Error),
}

/// Writes all of them in one transaction, or none. Gives the numbers of each one's events.
pub(crate) fn transact<'a>(
    connection: &Connection,
    items: impl Iterator<Item = &'a Item>,
) -> Result<Vec<Vec<u64>>, Failure> {
    let transaction = Transaction::begin(connection).map_err(Failure::Begin)?;
    let items: Vec<_> = items.collect();
    // A row is written once, as it is at the end. (But not for a session that is removed in between.)
    let removes = items.iter().any(|item| matches!(item.change, Change::Remove(_)));
    let saves = items.iter().enumerate().filter_map(|(place, item)| Some((item.saves()?, place)));
    let last: HashMap<&SessionId, usize> = if removes { HashMap::new() } else { saves.collect() };
    let outdated = |place: usize| {
        items[place].saves().and_then(|id| last.get(id)).is_some_and(|last| *last > place)
    };
    let written = (0..items.len()).map(|place| items[place].write(connection, outdated(place)));
    let seqs: rusqlite::Result<Vec<_>> = written.collect();
    let seqs = seqs.map_err(Failure::Inside)?;
    transaction.commit().map_err(Failure::Inside)?;
    Ok(seqs)
}

/// A transaction whose own statements are not parsed anew each time; undone unless committed.
struct Transaction<'a>(&'a Connection);

impl<'a> Transaction<'a> {
    fn begin(connection: &'a Connection) -> rusqlite::Result<Self> {
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        Ok(Self(connection))
    }

    fn commit(self) -> rusqlite::Result<()> {
        self.0.prepare_cached("COMMIT")?.execute([]).map(drop)
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        // A commit that succeeded has ended it, and so have some failures.
        if !self.0.is_autocommit()
            && let Err(error) = self.0.execute_batch("ROLLBACK")
        {
            tracing::error!(%error, "a transaction of the register could not be undone");
        }
    }
}
