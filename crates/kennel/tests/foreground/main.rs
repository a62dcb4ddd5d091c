//! What Kennel promises, seen with real processes and from outside. One file a behaviour.

mod doctor;
mod environment;
mod exec;
mod fork_bombs;
mod identity;
mod real_agents;
mod signals;
mod streams;
mod supervisor_death;
mod terminal;
mod trees;
