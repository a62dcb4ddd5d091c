//! A new member, as it is asked for.

use serde::{Deserialize, Serialize};

use crate::agent::{Permissions, Seat};

/// A new member.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NewMember {
    /// Its name.
    pub name: String,
    /// Who sits there.
    #[serde(deserialize_with = "AskedSeat::deserialize")]
    pub seat: Seat,
    /// The folder that it works in.
    pub cwd: String,
}

/// A seat in a request. There a field that nobody knows is a mistake; in records and answers it may be a newer program's.
#[derive(Deserialize)]
#[serde(remote = "Seat", deny_unknown_fields)]
struct AskedSeat {
    agent: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
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
    fn a_field_that_nobody_knows_is_refused_wherever_it_is() {
        let read = |seat: &str, more: &str| {
            let text = format!(r#"{{"name":"anna","seat":{seat},"cwd":"/"{more}}}"#);
            serde_json::from_str::<NewMember>(&text).map_err(|error| error.to_string())
        };
        let seat = Seat { agent: "claude".into(), turns: Some(3), ..Seat::default() };
        let text = serde_json::to_string(&seat).expect("JSON");
        assert_eq!(read(&text, "").map(|member| member.seat), Ok(seat));
        for refused in [read(r#"{"agent":"claude","modle":"x"}"#, ""), read(&text, r#","modle":1"#)]
        {
            assert!(refused.expect_err("a mistake").contains("unknown field `modle`"));
        }
    }

    /// What a newer program has written is read.
    #[test]
    fn a_record_may_have_more() {
        let seat = serde_json::from_str::<Seat>(r#"{"agent":"claude","newer":1}"#);
        assert_eq!(seat.expect("a seat").agent, "claude");
    }
}
