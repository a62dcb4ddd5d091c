//! `kennel-bench ask`: what it costs to ask an agent through Kennel.

mod first_call;
mod many;
mod parse;

pub(super) use first_call::section as first_call;
pub(super) use many::section as many;
pub(super) use parse::section as parse;
