//! What Kennel promises, seen with real processes and from outside. One file a behaviour.

mod real_agents;
