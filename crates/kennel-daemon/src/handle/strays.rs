//! Strays: found, and ended on request.

use kennel_types::api::{EndStraysRequest, StraysEnded, StraysView};
use tokio::task::spawn_blocking;

use super::DaemonHandle;
use crate::error::ApiError;
use crate::os::home::DaemonHome;
use crate::recover::census::SessionCensus;
use crate::recover::strays::{self, StraySelection};

impl DaemonHandle {
    pub async fn find_strays(&self) -> Result<StraysView, ApiError> {
        self.with_census(strays::find).await
    }

    /// Ends the named strays, or all of them.
    pub async fn end_strays(&self, request: EndStraysRequest) -> Result<StraysEnded, ApiError> {
        let end = move |home: &DaemonHome, census: &SessionCensus| {
            let only = request.only.as_deref();
            strays::end(home, census, &only.map_or(StraySelection::All, StraySelection::These))
        };
        let result = self.with_census(end).await?;
        self.record_ended_strays(&result);
        Ok(result)
    }

    /// Counts ended strays and adds them to the event log.
    pub(super) fn record_ended_strays(&self, result: &StraysEnded) {
        let (ended, metrics) = (result.ended.len(), &self.0.metrics);
        metrics.strays_found.inc_by((ended + result.still_alive.len()) as u64);
        metrics.strays_ended.inc_by(ended as u64);
        for stray in &result.ended {
            let cause = format!("pid {} ({}) of session {}", stray.pid, stray.name, stray.session);
            self.0.bus.call(|owner| owner.note(None, "stray_ended", cause));
        }
    }

    pub(super) async fn census(&self) -> Result<SessionCensus, ApiError> {
        self.ask(|owner| Ok(owner.census())).await
    }

    /// Examines all processes on a thread that may block.
    async fn with_census<T: Send + 'static>(
        &self,
        examine: impl FnOnce(&DaemonHome, &SessionCensus) -> std::io::Result<T> + Send + 'static,
    ) -> Result<T, ApiError> {
        let (home, census) = (self.0.home.clone(), self.census().await?);
        let examined = spawn_blocking(move || examine(&home, &census)).await;
        examined.map_err(ApiError::internal)?.map_err(ApiError::internal)
    }
}
