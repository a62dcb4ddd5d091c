//! For `skip_serializing_if`.

/// Whether a value says nothing: it is left out of the record, which is written twice for each session.
#[must_use]
pub fn is_unset<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
