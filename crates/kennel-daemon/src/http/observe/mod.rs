//! For those who watch the daemon: figures, whether it is well, what this machine offers, what sessions use.

mod doctor;
mod health;
mod history;
mod metrics;
mod sampler;
mod usage;

use std::ffi::OsString;
use std::sync::Arc;

use kennel_types::api::{ReadyView, SessionUsage, UsageHistory, UsageRequest};
use tokio::sync::watch;

use super::endpoint::{Endpoint, get};
use crate::metrics::Tally;
use doctor::Doctor;
use sampler::Sampler;
use usage::Usages;

/// What these requests need.
#[derive(Debug)]
pub(crate) struct Instruments {
    pub(crate) tally: Arc<Tally>,
    doctor: Doctor,
    usages: Usages,
    sampler: Sampler,
}

impl Instruments {
    /// `doctor` is the command that examines the machine; it is ended when the daemon leaves.
    pub(crate) fn new(
        tally: Arc<Tally>,
        doctor: Vec<OsString>,
        leaving: watch::Receiver<bool>,
    ) -> Self {
        let (usages, sampler) = (Usages::default(), Sampler::default());
        Self { tally, doctor: Doctor::new(doctor, leaving), usages, sampler }
    }
}

/// Their places.
pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        get("/metrics", metrics::metrics, ("getMetrics", "Figures for Prometheus"))
            .other("text/plain"),
        get("/healthz", health::alive, ("getHealth", "Whether the daemon answers"))
            .other("text/plain"),
        get(
            "/readyz",
            health::ready,
            ("getReadiness", "Whether it can do its work; 503 if it can't, and why"),
        )
        .answer::<ReadyView>(200),
        get(
            "/v1/doctor",
            doctor::doctor,
            ("examine", "What this machine offers, found by trying it"),
        )
        .answer::<serde_json::Value>(200),
        get("/v1/usage", usage::all, ("listUsage", "What the live sessions use"))
            .query::<UsageRequest>()
            .answer::<Vec<SessionUsage>>(200),
        get("/v1/sessions/{reference}/usage", usage::one, ("getUsage", "What a session uses"))
            .answer::<SessionUsage>(200),
        get(
            "/v1/sessions/{reference}/usage/history",
            usage::history,
            ("getUsageHistory", "What a session has used lately; noted while somebody asks for it"),
        )
        .answer::<UsageHistory>(200),
    ]
}
