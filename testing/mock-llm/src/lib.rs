//! A mock of four model APIs on loopback, for driving real agent CLIs offline.
//!
//! It implements enough of four wire protocols for the CLIs to accept it as the real service:
//!
//! | protocol | paths |
//! |---|---|
//! | Anthropic Messages | `POST …/v1/messages`, `…/v1/messages/count_tokens` |
//! | OpenAI Responses | `POST …/responses` |
//! | OpenAI chat completions | `POST …/chat/completions` |
//! | Gemini | `POST …/models/M:generateContent`, `:streamGenerateContent`, `:countTokens` |
//!
//! What it answers does not depend on the prompt but on the [`Scenario`], which is a prefix of the
//! path and so a part of the base URL that a CLI is given: `http://127.0.0.1:PORT/s/<scenario>`.
//! One server thus serves any number of runs with different scenarios at once.
//!
//! ```
//! let server = mock_llm::Server::start([("greet", "echo hello")])?;
//! let base = server.base_url("bash:greet@run-1");
//! assert_eq!(base, format!("http://127.0.0.1:{}/s/bash:greet@run-1", server.port()));
//! # std::io::Result::Ok(())
//! ```
//!
//! [`Cli::invocation`] has the argument lists, environments and configuration files with which the
//! real CLIs run against this server, non-interactively and without touching anything of the
//! user's.

mod anthropic;
mod chat;
mod cli;
mod commands;
mod gemini;
mod http;
mod responses;
mod scenario;
mod server;
mod wire;

pub use cli::{Cli, Invocation};
pub use commands::Commands;
pub use scenario::{ParseScenarioError, Scenario};
pub use server::{Request, Server};
pub use wire::Kind;
