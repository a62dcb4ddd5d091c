//! Keys: what a client makes up so that asking twice is asking once.

/// The most characters of a key.
const LONGEST: usize = 128;

/// Text that is no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no key: that is 1 to {LONGEST} characters without blanks or control characters; a UUID is a good one"
)]
pub struct KeyError(String);

/// Whether this may be a key.
///
/// # Errors
/// It may not.
pub fn check_key(text: &str) -> Result<(), KeyError> {
    let length = text.chars().count();
    let plain = text.chars().all(|character| !character.is_whitespace() && !character.is_control());
    if (1..=LONGEST).contains(&length) && plain { Ok(()) } else { Err(KeyError(text.to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_short_and_plain() {
        for right in ["k", "0b6c-11", "ünï", "a/b:c", &"x".repeat(128), &"ü".repeat(128)] {
            assert_eq!(check_key(right), Ok(()));
        }
        for wrong in ["", " ", "a b", "a\nb", "\u{7f}", "\u{1b}[2J", &"x".repeat(129)] {
            let message = check_key(wrong).unwrap_err().to_string();
            assert!(message.contains("is no key: that is 1 to 128 characters"), "{message}");
            assert!(message.chars().all(|character| !character.is_control()), "{message}");
        }
    }
}
