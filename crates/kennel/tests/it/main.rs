//! What Kennel promises, seen with real processes and from outside. One file a behaviour.

mod bombs;
mod death;
mod doctor;
mod exec;
mod identity;
mod real_agents;
mod signals;
mod streams;
mod surroundings;
mod terminal;
mod trees;
