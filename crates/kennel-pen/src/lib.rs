//! Start a command inside something that holds its whole process tree, know it before it runs, end all
//! of it, and *see* that it is gone.
mod cgroup;
mod command;
mod end;
mod ground;
pub mod holder;
mod launch;
mod leftover;
mod member;
mod name;
mod pen;
mod program;
mod status;
mod subtree;

pub use cgroup::CgroupBase;
pub use command::{CallerEnds, Command, Stream, Streams};
pub use end::End;
pub use ground::{Ground, NoCgroup, cgroup_mount};
pub use kennel_sys::clone::Limit;
pub use kennel_sys::fault::CallError;
pub use kennel_sys::identity::Identity;
pub use kennel_sys::terminal::Size;
pub use launch::{Gated, HOME_COOKIE, LaunchError, SESSION_COOKIE};
pub use leftover::{Leftover, LeftoverEnd};
pub use member::{Member, Survivor, Usage, Why};
pub use name::{HomeId, ParseNameError, PenName, SessionId};
pub use pen::{CreateError, Kind, NotRemoved, Pen, RemoveError, Woken};
pub use program::ExecError;
pub use status::Status;
