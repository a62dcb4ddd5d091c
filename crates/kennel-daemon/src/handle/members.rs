//! Requests about members.

use kennel_types::api::{CreateMemberRequest, MemberView};

use super::DaemonHandle;
use crate::error::ApiError;

impl DaemonHandle {
    pub async fn list_members(&self) -> Result<Vec<MemberView>, ApiError> {
        self.ask(|owner| Ok(owner.member_views())).await
    }

    pub async fn show_member(&self, name: String) -> Result<MemberView, ApiError> {
        self.ask(move |owner| owner.show_member(&name)).await
    }

    /// Adds a member; answers when it is on record.
    pub async fn add_member(&self, member: CreateMemberRequest) -> Result<MemberView, ApiError> {
        self.request(|owner, answer| owner.add_member(member, answer)).await
    }

    /// Removes a member; with `force` even a busy one, after its prompts have been stopped.
    pub async fn remove_member(
        &self,
        name: String,
        force: bool,
        by: String,
    ) -> Result<(), ApiError> {
        self.request(move |owner, answer| owner.remove_member(name, force, by, answer)).await
    }
}
