//! The holder's handle, from a caller's side. One file a behaviour.

mod asynchronous;
mod faults;
mod gate;
mod scene;
mod session;
