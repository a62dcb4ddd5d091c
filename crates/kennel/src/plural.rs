//! Plurals, and shell quoting.

/// Formats a command line, quoted for a shell where needed.
pub(crate) fn shell_words(argv: &[String]) -> String {
    argv.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
}

/// `1 keeper`, `2 keepers`.
pub(crate) fn counted(number: usize, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

/// Quotes a word for a shell if needed.
pub(crate) fn quote(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_words_for_a_shell() {
        let argv = ["sh", "-c", "echo 'a b'", "", "plain/path.txt"].map(ToOwned::to_owned);
        assert_eq!(shell_words(&argv), r"sh -c 'echo '\''a b'\''' '' plain/path.txt");
    }
}
