//! The agent programs that Kennel knows: how each is started, what it tells while it works, and what became of
//! a prompt.
//!
//! Pure: no process, no file, no clock, no environment. An [`Agent`] says what to start ([`Agent::one_shot`],
//! [`Agent::interactive`]) and how to stop it ([`Agent::manners`]); its [`Reader`] takes what the program prints,
//! in pieces of any size, tells what happens as it does, and makes the verdict in the end.
//!
//! ```text
//! Seat ── Agent ──> Invocation ──> (a process, started by others)
//!            │                            │ bytes
//!            └──────> Reader <────────────┘
//!                       │ Happening, Happening, …
//!                       └ finish(how it ended) ──> Finished: verdict, conversation, usage, answer
//! ```
//!
//! The verdict is made from three things together: the result that the program told in its own format, its
//! streams, and how its process ended. The order in which they count is in [`judge`](mod@judge).
//!
//! ```
//! use kennel_agents::{Agent, Because, End, Ended, Stream};
//! use kennel_types::{Seat, VerdictKind};
//!
//! let seat = Seat { agent: "codex".to_owned(), ..Seat::default() };
//! let agent = Agent::of(&seat)?;
//! let mut reader = agent.reader();
//! reader.read(Stream::Stdout, b"{\"type\":\"turn.star", &mut |_| {});
//! let ended = Ended { end: End::Exited(0), because: Because::Itself };
//! // A code of 0 alone is no success.
//! let finished = reader.finish(&ended, &mut |_| {});
//! assert_ne!(finished.judged.verdict.kind, VerdictKind::Succeeded);
//! # Ok::<(), kennel_agents::AgentError>(())
//! ```

mod agent;
mod claude;
mod codex;
mod described;
mod doing;
mod gemini;
mod invocation;
mod json;
pub mod judge;
mod manners;
mod opencode;
mod reader;
mod seen;
mod words;

pub use agent::{Agent, AgentError, ConversationError, UsageOf};
pub use described::DescriptionError;
pub use doing::Doing;
pub use invocation::Invocation;
pub use judge::{Because, End, Ended};
pub use manners::{Manners, PoliteSignal};
pub use reader::{Finished, Happening, MOST_LINE, Reader, Stream};
