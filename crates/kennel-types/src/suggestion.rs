//! Suggestions for misspelled words.

/// Returns how far a word is from a known one, in letters that are inserted, left out, changed or
/// swapped with their neighbor. Returns `None` if more than a third of the word differs: otherwise
/// a short word resembles every other.
#[must_use]
pub fn similarity(written: &str, known: &str) -> Option<usize> {
    // Ignore a shared prefix such as `KENNEL_RUN_`: it does not make words similar.
    let (written, known) = match written.rfind('_') {
        Some(at) if known.starts_with(&written[..=at]) => (&written[at + 1..], &known[at + 1..]),
        _ => (written, known),
    };
    let limit = (written.chars().count() / 3).clamp(1, 4);
    Some(strsim::osa_distance(written, known)).filter(|distance| *distance <= limit)
}

/// Returns the known word that is most similar to the one that was written, if one is similar.
pub fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let similar = known.into_iter().filter_map(|word| Some((similarity(written, word)?, word)));
    similar.min().map(|(_, word)| word)
}

/// Returns `; did you mean X?` if a known word is similar, or else the list of known words.
pub fn did_you_mean<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(written, known.iter().copied()) {
        Some(nearest) => format!("; did you mean {nearest}?"),
        None if known.is_empty() => "; there are none".to_owned(),
        None => format!("; expected one of: {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_similar_words_have_a_distance() {
        for (written, known, distance) in [
            ("claude", "claude", Some(0)),
            ("cluade", "claude", Some(1)),
            ("claud", "claude", Some(1)),
            ("kitten", "sitting", None),
            ("", "abc", None),
            ("KENNEL_RUN_TIMEOT", "KENNEL_RUN_TIMEOUT", Some(1)),
            ("KENNEL_RUN_XYZZY", "KENNEL_RUN_READY", None),
        ] {
            assert_eq!(similarity(written, known), distance, "{written} {known}");
        }
    }

    #[test]
    fn suggests_a_similar_word_or_lists_all() {
        let known = ["timeout", "stage", "name"];
        assert_eq!(did_you_mean("tiemout", known), "; did you mean timeout?");
        assert_eq!(did_you_mean("x", known), "; expected one of: timeout, stage, name");
        assert_eq!(did_you_mean("x", []), "; there are none");
    }
}
