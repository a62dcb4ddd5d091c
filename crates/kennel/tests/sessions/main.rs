//! What sessions promise when daemon, keeper, yard, disk or clients fail them: seen with real processes and
//! from outside. One file a behaviour.

mod admission;
mod adopt;
mod again;
mod again_walk;
mod asks;
mod asks_real;
mod asks_stories;
mod asks_walk;
mod baseline;
mod births;
mod children;
mod cli;
mod config;
mod crash_walk;
mod deaths;
mod disk;
mod docs;
mod freezer;
mod ghosts;
mod identity;
mod inside;
mod journal;
mod limits;
mod output;
mod pty;
mod readiness;
mod readiness_later;
mod register;
mod reports;
mod reuse;
mod shutdown;
mod surroundings;
mod walk;
mod words;
mod worktrees;
