//! Prompts for agents: members, the command that asks, the verdict on the answer, the transcript.

pub(crate) mod clients;
pub(crate) mod command;
pub(crate) mod judge;
pub(crate) mod members;
pub(crate) mod settle;
pub mod transcript;
