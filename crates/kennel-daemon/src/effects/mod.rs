//! Carrying out what the core decides, apart from the owner of the state: what comes of it is told by message.

pub(crate) mod apart;
pub(crate) mod clean_up;
pub(crate) mod end_pen;
pub(crate) mod judge;
pub(crate) mod launch;
pub(crate) mod probe;
pub(crate) mod terminal;
pub(crate) mod worktree;
pub(crate) mod yard_proof;
