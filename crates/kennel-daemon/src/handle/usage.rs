//! Resource usage of sessions, as their keepers report it.

use std::sync::Arc;
use std::time::Duration;

use kennel_types::api::SessionUsage;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::DaemonHandle;
use crate::error::ApiError;
use crate::keeper::request::KeeperRequestError;
use crate::os::home::DaemonHome;
use crate::owner::{SessionPen, inspect};

/// How long all keepers together may take to answer.
const KEEPERS_TIMEOUT: Duration = Duration::from_secs(2);
const CONCURRENT: usize = 32;

impl DaemonHandle {
    pub async fn usage(&self, reference: String) -> Result<SessionUsage, ApiError> {
        let session_pen = self.pens(Some(reference)).await?.pop();
        let session_pen =
            session_pen.ok_or_else(|| ApiError::internal("the session was removed"))?;
        Ok(ask(&self.0.home, session_pen, Instant::now() + KEEPERS_TIMEOUT).await)
    }

    /// Returns the resource usage of all live sessions, in the order of their ids. Dropping the
    /// future stops the requests to keepers.
    pub async fn usage_of_all(&self) -> Result<Vec<SessionUsage>, ApiError> {
        let (permits, until) =
            (Arc::new(Semaphore::new(CONCURRENT)), Instant::now() + KEEPERS_TIMEOUT);
        let mut asked = JoinSet::new();
        for session_pen in self.pens(None).await? {
            let (home, permits) = (self.0.home.clone(), Arc::clone(&permits));
            asked.spawn(async move {
                // The semaphore is never closed.
                let _permit = permits.acquire().await;
                ask(&home, session_pen, until).await
            });
        }
        let mut found = asked.join_all().await;
        found.sort_by(|one, other| one.id.cmp(&other.id));
        Ok(found)
    }

    async fn pens(&self, reference: Option<String>) -> Result<Vec<SessionPen>, ApiError> {
        self.ask(move |owner| owner.pens(reference.as_deref())).await
    }
}

async fn ask(home: &DaemonHome, session_pen: SessionPen, until: Instant) -> SessionUsage {
    let SessionPen { id, name, phase, has_keeper } = session_pen;
    let (mut usage, mut trouble) = (None, None);
    if has_keeper {
        match timeout_at(until, inspect::usage(&home.session(&id))).await {
            Ok(Ok(used)) => usage = Some(used),
            // It has just ended, and uses nothing.
            Ok(Err(KeeperRequestError::NotListening)) => {}
            Ok(Err(error)) => trouble = Some(format!("can't reach its keeper: {error}")),
            Err(_) => trouble = Some("its keeper does not answer".to_owned()),
        }
    }
    SessionUsage { id: id.to_string(), name, phase, usage, trouble, history: None }
}
