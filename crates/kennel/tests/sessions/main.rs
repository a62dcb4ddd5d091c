//! What sessions promise when daemon, keeper, yard, disk or clients fail them: seen with real processes and
//! from outside. One file a behaviour.

mod crash_walk;
mod journal;
mod walk;
