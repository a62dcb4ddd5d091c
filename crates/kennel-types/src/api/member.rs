//! The request that adds a member.

use serde::{Deserialize, Serialize};

use crate::agent::{AgentSettings, Permissions};

/// A request to add a member.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CreateMemberRequest {
    /// The member's name.
    pub name: String,
    /// The agent program that the member runs, and its settings.
    #[serde(deserialize_with = "RequestedAgentSettings::deserialize")]
    pub settings: AgentSettings,
    /// The directory that the member works in.
    pub cwd: String,
}

/// [`AgentSettings`] in a request, where an unknown field is an error. Records and responses may
/// have fields of a newer version.
#[derive(Deserialize)]
#[serde(remote = "AgentSettings", deny_unknown_fields)]
struct RequestedAgentSettings {
    agent: String,
    description: Option<String>,
    model: Option<String>,
    turns: Option<u32>,
    #[serde(default)]
    permissions: Permissions,
    #[serde(default)]
    args: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_unknown_fields() {
        let read = |settings: &str, more: &str| {
            let text = format!(r#"{{"name":"anna","settings":{settings},"cwd":"/"{more}}}"#);
            serde_json::from_str::<CreateMemberRequest>(&text).map_err(|error| error.to_string())
        };
        let settings =
            AgentSettings { agent: "claude".into(), turns: Some(3), ..AgentSettings::default() };
        let text = serde_json::to_string(&settings).expect("JSON");
        assert_eq!(read(&text, "").map(|member| member.settings), Ok(settings));
        for refused in [read(r#"{"agent":"claude","modle":"x"}"#, ""), read(&text, r#","modle":1"#)]
        {
            assert!(refused.expect_err("a mistake").contains("unknown field `modle`"));
        }
    }

    /// A newer version may have written the record.
    #[test]
    fn reads_a_record_with_unknown_fields() {
        let settings = serde_json::from_str::<AgentSettings>(r#"{"agent":"claude","newer":1}"#);
        assert_eq!(settings.expect("settings").agent, "claude");
    }
}
