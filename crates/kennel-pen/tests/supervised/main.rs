//! Pens in supervisors, from the program's side. Each file tests one behaviour.

mod asynchronous;
mod faults;
mod gate;
mod scene;
mod session;
