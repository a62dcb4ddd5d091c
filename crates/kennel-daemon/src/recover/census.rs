//! What recovery has to know about the sessions on record, and how it asks the owner for it.

use std::collections::{HashMap, HashSet};
use std::io;

use kennel_types::SessionId;
use tokio::sync::oneshot;

use crate::event_sender::EventSender;
use crate::keeper::yard::YardKeepers;

/// A request of a recovery task to the owner.
#[derive(Debug)]
pub(crate) enum RecoveryRequest {
    /// Asks which sessions exist.
    Census { answer: oneshot::Sender<SessionCensus> },
    /// Asks for the yard's keepers. The answer is dropped if the yard is gone.
    Keepers { answer: oneshot::Sender<YardKeepers> },
    /// Adds an entry to the event log.
    Note { session: Option<SessionId>, kind: &'static str, cause: String },
}

/// The sessions on record at one moment.
#[derive(Debug, Default)]
pub(crate) struct SessionCensus {
    /// Sessions that are not cleaned yet, with what is known of their processes.
    pub(crate) live: HashMap<String, LiveSession>,
    /// The ids of all sessions on record.
    pub(crate) known: HashSet<SessionId>,
    /// Kennel's own processes.
    pub(crate) own: HashSet<i32>,
}

/// What is known of a live session's processes.
#[derive(Debug, Clone, Default)]
pub(crate) struct LiveSession {
    pub(crate) keeper: Option<i32>,
    pub(crate) lost: bool,
}

impl SessionCensus {
    /// Asks the owner which sessions exist.
    pub(crate) async fn take(owner: &EventSender<RecoveryRequest>) -> io::Result<Self> {
        let gone = || io::Error::other("the daemon is shutting down");
        let (answer, census) = oneshot::channel();
        owner.send(RecoveryRequest::Census { answer }).map_err(|_| gone())?;
        census.await.map_err(|_| gone())
    }

    /// The keepers of live sessions, by session.
    pub(crate) fn keepers(&self) -> impl Iterator<Item = (&str, i32)> {
        self.live.iter().filter_map(|(id, session)| Some((id.as_str(), session.keeper?)))
    }
}
