//! Plans: several agents with one cancel.
//!
//! A plan is read from text and checked ([`kennel_types::plan::PlanSpec`]): stages of agents, one stage after the other, the agents of
//! a stage at the same time. While it is run it is a value ([`PlanState`]): something happens to it ([`PlanEvent`]), and
//! it says what is to be done ([`PlanAction`]).
//!
//! ```text
//!             ┌──────────── NotAsked ───────────┐
//!             ▼                                 │
//!          Waiting ── Asking (taken) ──────► Asking ── Asked ──► Asked
//!             │                                 │                  │
//!             │ nobody is asked            Refused│Judged        Judged
//!             │ any more                        ▼                  ▼
//!             └──────► Skipped               Failed      Done, Failed, Cancelled
//!                         └────────── Resumed ──┴──────── (not Done) ─────► Waiting
//! ```
//!
//! - An agent is asked only after [`PlanEvent::Asking`] was taken and is on record: from then on there may be a session, and a
//!   cancel reaches it. There is no moment between "may exist" and "is known".
//! - It leaves the ranks of those who may be alive only when its session was seen to be gone, or when it is certain that
//!   there is none. Failure does not remove it.
//! - After a cancel nobody is asked, ever; everybody who may be alive is stopped, until all are over.
//! - Actions are said again until they are known to be done: after a crash the record says what to do. For each agent in
//!   [`AgentPhase::Asking`] whoever comes back looks for a session with the key of that ask, and tells
//!   [`PlanEvent::Asked`] or [`PlanEvent::NotAsked`].

mod check;
mod outcome;
mod problem;
mod read;
mod render;
mod resume;
mod state;
mod step;
mod template;
mod view;

pub use check::{MAX_AGENTS, MAX_PROMPT_BYTES, check, put_prompt};
pub use outcome::{AgentOutcome, AgentResult, PlanOutcome, PlanResult};
pub use problem::{PlanError, PlanProblem};
pub use read::parse;
pub use render::{AgentAnswer, Inputs, MAX_ANSWER_BYTES, PromptError, fill_inputs, prompt};
pub use state::{
    AgentFailure, AgentPhase, AgentState, EventOutcome, IgnoredReason, PlanEnding, PlanEvent,
    PlanState, SkipReason,
};
pub use step::PlanAction;
pub use template::{NoValue, Reference, Template, TemplateError};

#[cfg(test)]
mod tests;
