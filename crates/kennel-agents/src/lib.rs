//! The agent programs that Kennel supports: how each is started, how its output is parsed, and how
//! an attempt at a prompt is judged.
//!
//! This crate is pure: it uses no process, file, clock or environment. An [`Agent`] returns the
//! command to start ([`Agent::one_shot`], [`Agent::interactive`]) and how to stop it
//! ([`Agent::stop_policy`]). Its [`OutputReader`] takes the program's output in pieces of any size,
//! emits [`AgentEvent`]s, and returns the verdict at the end.
//!
//! ```text
//! AgentSettings ── Agent ──> Invocation ──> (a process, started by the caller)
//!                     │                            │ bytes
//!                     └──────> OutputReader <──────┘
//!                                │ AgentEvent, AgentEvent, …
//!                                └ finish(AttemptEnd) ──> FinishedAttempt: verdict, answer, …
//! ```
//!
//! The verdict depends on three things: the result in the program's own format, its output streams,
//! and how its process ended. [`judge`](mod@judge) documents their priority.
//!
//! ```
//! use kennel_agents::{Agent, AttemptEnd, EndedBy, OutputStream, ProcessEnd};
//! use kennel_types::{AgentSettings, VerdictKind};
//!
//! let settings = AgentSettings { agent: "codex".to_owned(), ..AgentSettings::default() };
//! let agent = Agent::of(&settings)?;
//! let mut reader = agent.reader();
//! reader.read(OutputStream::Stdout, b"{\"type\":\"turn.star", &mut |_| {});
//! let end = AttemptEnd { end: ProcessEnd::Exited(0), ended_by: EndedBy::Itself };
//! // Exit code 0 alone is not a success.
//! let finished = reader.finish(&end, &mut |_| {});
//! assert_ne!(finished.judged.verdict.kind, VerdictKind::Succeeded);
//! # Ok::<(), kennel_agents::AgentError>(())
//! ```

mod agent;
mod agent_event;
mod attempt_end;
mod claude;
mod codex;
mod described;
mod error;
mod error_patterns;
mod excerpt;
mod gemini;
mod invocation;
mod json;
pub mod judge;
mod lines;
mod opencode;
mod output_format;
mod parse_state;
mod reader;
mod stop_policy;

pub use agent::Agent;
pub use agent_event::AgentEvent;
pub use attempt_end::{AttemptEnd, EndedBy, ProcessEnd};
pub use error::{AgentError, DescriptionError};
pub use invocation::Invocation;
pub use lines::MAX_LINE_BYTES;
pub use reader::{FinishedAttempt, OutputReader, OutputStream};
pub use stop_policy::{StopPolicy, StopSignal};
