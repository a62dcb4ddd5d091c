//! What somebody meant who wrote something else.

/// How many letters must be put in, left out, changed or swapped with their neighbour.
pub(crate) fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, to) in b.iter().enumerate() {
            let changed = last[j] + usize::from(from != to);
            let mut least = changed.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *from == b[j - 1] && a[i - 1] == *to {
                least = least.min(before_last[j - 1] + 1);
            }
            row.push(least);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

/// How large a slip may be: a third of the word, so that a short one is not like everything.
pub(crate) fn largest_slip(written: &str) -> usize {
    (written.chars().count() / 3).clamp(1, 4)
}

/// `; did you mean X?`, if there is an X like it; else what there is.
pub(crate) fn did_you_mean<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let near = known.iter().map(|other| (distance(written, other), *other));
    match near.filter(|(distance, _)| *distance <= largest_slip(written)).min() {
        Some((_, nearest)) => format!("; did you mean {nearest}?"),
        None if known.is_empty() => "; there are none".to_owned(),
        None => format!("; there are: {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_one() {
        for (a, b, wanted) in [
            ("claude", "claude", 0),
            ("cluade", "claude", 1),
            ("claud", "claude", 1),
            ("clayde", "claude", 1),
            ("", "abc", 3),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!((distance(a, b), distance(b, a)), (wanted, wanted), "{a} {b}");
        }
    }

    #[test]
    fn what_is_like_it_is_suggested_else_everything() {
        let known = ["timeout", "stage", "name"];
        assert_eq!(did_you_mean("tiemout", known), "; did you mean timeout?");
        assert_eq!(did_you_mean("x", known), "; there are: timeout, stage, name");
        assert_eq!(did_you_mean("x", []), "; there are none");
    }
}
