//! Plans as they are sent and shown: the spec of a plan, the names in it, its views.

mod name;
mod spec;
mod view;

pub use name::{Name, NameError, Place, PlaceError};
pub use spec::{InputSpec, OnFailure, PlanAgent, PlanSpec, Prompt, StageSpec, Who, WorktreeWish};
pub use view::{PlanAgentStatus, PlanAgentView, PlanStatus, PlanView, StageView};
