//! Foreground runs with real processes, observed from outside. One file for each behaviour.

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
