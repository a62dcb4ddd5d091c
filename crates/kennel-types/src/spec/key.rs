//! Idempotency keys: a client chooses one, so that a repeated request has no second effect.

/// The maximum number of characters.
const MAX_LENGTH: usize = 128;

/// A text that is not a valid key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid key {0:?}: expected 1 to {MAX_LENGTH} characters without spaces or control characters, for example a UUID"
)]
pub struct KeyError(String);

/// Checks an idempotency key.
///
/// # Errors
/// The key is empty, too long, or contains spaces or control characters.
pub fn check_key(text: &str) -> Result<(), KeyError> {
    let length = text.chars().count();
    let plain = text.chars().all(|character| !character.is_whitespace() && !character.is_control());
    if (1..=MAX_LENGTH).contains(&length) && plain {
        Ok(())
    } else {
        Err(KeyError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_only_short_plain_keys() {
        for right in ["k", "0b6c-11", "ünï", "a/b:c", &"x".repeat(128), &"ü".repeat(128)] {
            assert_eq!(check_key(right), Ok(()));
        }
        for wrong in ["", " ", "a b", "a\nb", "\u{7f}", "\u{1b}[2J", &"x".repeat(129)] {
            let message = check_key(wrong).unwrap_err().to_string();
            assert!(message.contains("expected 1 to 128 characters"), "{message}");
            assert!(message.chars().all(|character| !character.is_control()), "{message}");
        }
    }
}
