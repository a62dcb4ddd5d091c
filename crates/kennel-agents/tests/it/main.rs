//! Agents, with recorded and with invented output.

mod broken;
mod command;
mod ends;
mod fixtures;
mod recorded;
