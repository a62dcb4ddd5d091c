//! Agents, as they were recorded and as nobody has seen them yet.

mod broken;
mod command;
mod ends;
mod fixtures;
mod recorded;
