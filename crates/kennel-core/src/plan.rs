//! Plans: several agents with one cancel.
//!
//! A plan ([`kennel_types::plan::PlanSpec`]) is parsed from text and checked. It has stages, which
//! run one after the other; the agents of a stage run at the same time. A plan that runs is a value
//! ([`PlanState`]): the daemon applies events ([`PlanEvent`]) and carries out the actions that the
//! state asks for ([`PlanAction`]).
//!
//! ```text
//!             ┌──────────── NotAsked ───────────┐
//!             ▼                                 │
//!          Waiting ── Asking (accepted) ───► Asking ── Asked ──► Asked
//!             │                                 │                  │
//!             │ no more agents are         Refused│Judged        Judged
//!             │ asked                           ▼                  ▼
//!             └──────► Skipped               Failed      Done, Failed, Cancelled
//!                         └────────── Resumed ──┴──────── (not Done) ─────► Waiting
//! ```
//!
//! - The daemon asks an agent only after [`PlanEvent::Asking`] was accepted and recorded. From then
//!   on a session may exist, and a cancel reaches it: a session that may exist is always known.
//! - An agent counts as alive until its session was seen to be gone, or certainly does not exist. A
//!   failure alone does not change that.
//! - After a cancel no agent is asked, and every agent that may be alive is stopped, until all are
//!   over.
//! - Actions repeat until an event confirms them, so the record is enough to continue after a
//!   crash. For each agent in [`AgentPhase::Asking`] the daemon then looks for a session with the
//!   key of that ask, and sends [`PlanEvent::Asked`] or [`PlanEvent::NotAsked`].

mod check;
mod problem;
mod read;
mod render;
mod state;
mod step;
mod template;
mod view;

pub use check::{MAX_AGENTS, MAX_PROMPT_BYTES, check, put_prompt};
pub use problem::{PlanError, PlanProblem};
pub use read::parse;
pub use render::{AgentAnswer, Inputs, MAX_ANSWER_BYTES, PromptError, fill_inputs, prompt};
pub use state::{
    AgentPhase, AgentState, AskFailure, IgnoredReason, PlanEnding, PlanEvent, PlanState, SkipReason,
};
pub use step::PlanAction;
pub use view::{AgentOutcome, PlanOutcome};

#[cfg(test)]
mod tests;
