//! Paths of the API.

/// One part of a path or a value of a query, whatever is in it.
#[must_use]
pub fn escape(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes()
        .map(|byte| match byte {
            byte if plain(byte) => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect()
}

/// The path of something about a session.
#[must_use]
pub fn session_path(reference: &str, what: &str) -> String {
    format!("/v1/sessions/{}{what}", escape(reference))
}

/// The path of a member.
#[must_use]
pub fn member_path(name: &str) -> String {
    format!("/v1/members/{}", escape(name))
}

/// The path of something about a plan.
#[must_use]
pub fn plan_path(reference: &str, what: &str) -> String {
    format!("/v1/plans/{}{what}", escape(reference))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anything_can_be_part_of_a_path() {
        assert_eq!(escape("fix-login.2"), "fix-login.2");
        assert_eq!(escape("../a b?c=ü"), "..%2Fa%20b%3Fc%3D%C3%BC");
        assert_eq!(session_path("a/b", "/stop"), "/v1/sessions/a%2Fb/stop");
    }
}
