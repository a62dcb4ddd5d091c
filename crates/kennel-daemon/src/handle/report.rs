//! Reports of agents about themselves.
//!
//! A refused report changes nothing, and no process is ended for it. But the caller is examined: if
//! its launch is over, the remaining processes of that launch are ended, as any stray may be.

use std::time::Duration;

use kennel_keeper::fault::point;
use kennel_sys::pidfd;
use kennel_types::api::ReportRequest;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::DaemonHandle;
use crate::error::ApiError;
use crate::keeper::process;
use crate::os::peer::Caller;
use crate::recover::strays::{self, StraySelection};

/// How long the answer to a report waits for its record.
const RECORD_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a refused caller has to read the answer before the rest of its launch is ended.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

impl DaemonHandle {
    /// Takes a report of an agent; `caller` is the process that sends it.
    pub async fn report(
        &self,
        request: ReportRequest,
        caller: Option<i32>,
    ) -> Result<(), ApiError> {
        let caller = self.find_caller(caller).await?;
        let from = caller.to_string();
        let taken = self.ask(move |owner| owner.agent_reported(&request, &from)).await;
        if let Err(refused) = taken {
            if refused.is_refused_report() {
                tokio::spawn(self.clone().end_leftovers(caller));
            }
            return Err(refused);
        }
        // The answer waits for the record: the next daemon knows of the report if this one is
        // killed. On a full disk the report counts as long as this daemon lives.
        if timeout(RECORD_TIMEOUT, self.0.register.catch_up()).await.is_err() {
            tracing::warn!("a report is not recorded yet");
        }
        point("daemon.report.written");
        Ok(())
    }

    /// Finds the launch that the caller belongs to, while it waits for its answer.
    pub(super) async fn find_caller(&self, pid: Option<i32>) -> Result<Caller, ApiError> {
        let Some(pid) = pid else { return Ok(Caller::default()) };
        let (home, census) = (self.0.home.clone(), self.census().await?);
        let found = spawn_blocking(move || Caller::find(pid, &home, census.keepers())).await;
        found.map_err(ApiError::internal)
    }

    /// Ends what is left of the caller's launch if that launch is over. A live or stopping launch
    /// has its keeper.
    async fn end_leftovers(self, caller: Caller) {
        let Caller { pid: Some(pid), session: Some(session) } = caller else { return };
        // The caller may be one of the processes that are ended, and must read the answer first.
        if let Ok(Some(handle)) = pidfd::open(pid) {
            drop(timeout(ANSWER_TIMEOUT, process::ended(&handle)).await);
        }
        let Ok(census) = self.census().await else { return };
        if census.live.contains_key(&session) {
            return;
        }
        let home = self.0.home.clone();
        let end = move || strays::end(&home, &census, &StraySelection::Of(&session));
        match spawn_blocking(end).await {
            Ok(Ok(ended)) => self.record_ended_strays(&ended),
            Ok(Err(error)) => tracing::warn!(%error, "can't find what is left of a launch"),
            Err(error) => tracing::warn!(%error, "the search for leftovers of a launch failed"),
        }
    }
}
