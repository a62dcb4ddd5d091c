//! For `skip_serializing_if`.

/// Returns whether a value is its default. Such fields are left out of records, which are written
/// often.
#[must_use]
pub fn is_unset<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
