//! For those who watch the daemon: figures, whether it is well, what this machine offers, what sessions use.

mod doctor;
mod health;
mod metrics;
mod usage;

use std::ffi::OsString;
use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use tokio::sync::watch;

use super::Api;
use crate::metrics::Tally;
use doctor::Doctor;
use usage::Usages;

/// What these requests need.
#[derive(Debug)]
pub(crate) struct Instruments {
    pub(crate) tally: Arc<Tally>,
    doctor: Doctor,
    usages: Usages,
}

impl Instruments {
    /// `doctor` is the command that examines the machine; it is ended when the daemon leaves.
    pub(crate) fn new(
        tally: Arc<Tally>,
        doctor: Vec<OsString>,
        leaving: watch::Receiver<bool>,
    ) -> Self {
        Self { tally, doctor: Doctor::new(doctor, leaving), usages: Usages::default() }
    }
}

/// Their routes.
pub(super) fn routes() -> Router<Api> {
    Router::new()
        .route("/metrics", get(metrics::metrics))
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/v1/doctor", get(doctor::doctor))
        .route("/v1/usage", get(usage::all))
        .route("/v1/sessions/{reference}/usage", get(usage::one))
}
