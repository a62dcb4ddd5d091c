//! The types that programs exchange: ids, specs, requests, views and errors. They make no decisions
//! and do no I/O.
//!
//! The daemon, its clients, the keeper and the agents share them; `kennel-core` decides.

#![warn(missing_docs)]

mod agent;
pub mod api;
mod id;
mod member;
mod millis;
pub mod plan;
mod ready;
mod report;
mod restart;
mod session;
mod spec;
pub mod suggestion;
mod time;
pub mod timestamp;
mod verdict;
mod view;

pub use agent::{AgentSettings, AgentSpec, ConversationChoice, Permissions, PlanPosition};
pub use id::{IdMaker, LaunchToken, ParseIdError, SessionId, looks_like_id, parse_first_launch};
pub use member::{MemberNameError, check_member_name};
pub use ready::{Readiness, ReadinessError, ReadyState};
pub use report::{AgentActivity, AgentReport, Percent, ReportError, Title};
pub use restart::{RelaunchState, Restart, RestartError};
pub use session::{
    Exit, KeptItem, LaunchFailure, LaunchFailureError, Owed, OwedKind, Phase, Reason, StartedBy,
    Survivor,
};
pub use spec::{
    DEFAULT_LEASE, DEFAULT_LINGER, DEFAULT_OUTPUT_LIMIT, KeyError, PenKind, SessionSpec,
    TerminalSize, WorktreeSpec, check_key,
};
pub use time::{TimeError, parse_time};
pub use verdict::{
    EvidenceSource, Judged, MAX_EVIDENCE_BYTES, TokenUsage, UsageScope, Verdict, VerdictKind, Work,
    beginning_of,
};
pub use view::{EventView, LaunchView, SessionView, WorktreeState, WorktreeView};

/// Returns whether a value is its default, for `skip_serializing_if`. Such fields are left out of
/// records, which are written often.
#[must_use]
pub fn is_unset<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
