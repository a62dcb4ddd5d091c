//! The names of members.

/// The maximum number of characters in a member's name.
const MAX_NAME_LENGTH: usize = 64;

/// A text that is not a valid member name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid member name {0:?}: expected 1 to {MAX_NAME_LENGTH} letters, digits, '-', '_' or '.', starting with a \
     letter or digit"
)]
pub struct MemberNameError(String);

/// Checks a member's name. Users type it, Kennel prints it, and plans refer to it.
///
/// # Errors
/// The name is empty, too long, or contains other characters.
pub fn check_member_name(name: &str) -> Result<(), MemberNameError> {
    let allowed = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let begins = name.chars().next().is_some_and(char::is_alphanumeric);
    if begins && name.chars().count() <= MAX_NAME_LENGTH && name.chars().all(allowed) {
        Ok(())
    } else {
        Err(MemberNameError(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_only_plain_names() {
        for name in ["a", "Anna-2", "über.x", "7"] {
            check_member_name(name).unwrap();
        }
        for name in ["", "-a", ".a", "a b", "a/b", "a{b}", &"x".repeat(65)] {
            let message = check_member_name(name).unwrap_err().to_string();
            assert!(message.contains(&format!("{name:?}")), "{message}");
        }
    }
}
