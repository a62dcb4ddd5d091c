//! Plans on the wire: specs, names and views.

mod name;
mod spec;
mod view;

pub use name::{AgentPath, AgentPathError, Name, NameError};
pub use spec::{
    InputSpec, OnFailure, PlanAgent, PlanSpec, PlanTarget, PlanWorktree, Prompt, StageSpec,
};
pub use view::{PlanAgentStatus, PlanAgentView, PlanStatus, PlanView, StageView};
