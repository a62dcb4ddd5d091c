//! Requests about members.

use kennel_types::api::{CreateMemberRequest, MemberView};

use super::DaemonHandle;
use crate::error::{Answer, ApiError};
use crate::owner::MemberCommand;
use crate::owner::message::Command;

impl DaemonHandle {
    async fn member<T>(
        &self,
        command: impl FnOnce(Answer<T>) -> MemberCommand,
    ) -> Result<T, ApiError> {
        self.request(|answer| Command::Member(command(answer))).await
    }

    /// All members.
    ///
    /// # Errors
    /// The daemon is shutting down.
    pub async fn list_members(&self) -> Result<Vec<MemberView>, ApiError> {
        self.member(|answer| MemberCommand::List { answer }).await
    }

    /// One member.
    ///
    /// # Errors
    /// It is unknown.
    pub async fn show_member(&self, name: String) -> Result<MemberView, ApiError> {
        self.member(|answer| MemberCommand::Show { name, answer }).await
    }

    /// Adds a member; answers when it is on record.
    ///
    /// # Errors
    /// Its description is invalid, or its name is taken.
    pub async fn add_member(&self, member: CreateMemberRequest) -> Result<MemberView, ApiError> {
        self.member(|answer| MemberCommand::Add { member, answer }).await
    }

    /// Removes a member; with `force` even a busy one, after its prompts have been stopped.
    ///
    /// # Errors
    /// It is unknown or busy.
    pub async fn remove_member(
        &self,
        name: String,
        force: bool,
        by: String,
    ) -> Result<(), ApiError> {
        self.member(|answer| MemberCommand::Remove { name, force, by, answer }).await
    }
}
