//! Names of keys, and the bytes that a terminal sends for them.

/// How cursor keys are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CursorKeys {
    Normal,
    /// The mode that a program can request.
    Application,
}

/// Modifiers, as encoded in escape sequences.
const SHIFT: u8 = 1;
const ALT: u8 = 2;
const CONTROL: u8 = 4;

#[derive(Debug, Clone, Copy)]
enum Special {
    /// Plain bytes, independent of Shift and Control.
    Plain(&'static str),
    /// `ESC [ letter`, or `ESC O letter` in application mode.
    Cursor(char),
    /// `ESC O letter` in every mode.
    Function(char),
    /// `ESC [ number ~`.
    Numbered(u8),
}

fn special(name: &str) -> Option<Special> {
    Some(match name.to_ascii_lowercase().as_str() {
        "enter" | "return" => Special::Plain("\r"),
        "tab" => Special::Plain("\t"),
        "btab" => Special::Plain("\x1b[Z"),
        "space" => Special::Plain(" "),
        "bspace" | "backspace" => Special::Plain("\x7f"),
        "escape" | "esc" => Special::Plain("\x1b"),
        "up" => Special::Cursor('A'),
        "down" => Special::Cursor('B'),
        "right" => Special::Cursor('C'),
        "left" => Special::Cursor('D'),
        "home" => Special::Cursor('H'),
        "end" => Special::Cursor('F'),
        "insert" | "ic" => Special::Numbered(2),
        "delete" | "dc" => Special::Numbered(3),
        "pageup" | "pgup" | "ppage" => Special::Numbered(5),
        "pagedown" | "pgdn" | "npage" => Special::Numbered(6),
        "f1" => Special::Function('P'),
        "f2" => Special::Function('Q'),
        "f3" => Special::Function('R'),
        "f4" => Special::Function('S'),
        "f5" => Special::Numbered(15),
        "f6" => Special::Numbered(17),
        "f7" => Special::Numbered(18),
        "f8" => Special::Numbered(19),
        "f9" => Special::Numbered(20),
        "f10" => Special::Numbered(21),
        "f11" => Special::Numbered(23),
        "f12" => Special::Numbered(24),
        _ => return None,
    })
}

/// Returns the bytes for a word: a key name with optional modifiers, or the text itself.
pub(super) fn bytes(word: &str, cursor: CursorKeys) -> Result<Vec<u8>, String> {
    let (modifiers, name) = modifiers(word);
    if let Some(key) = special(name) {
        return Ok(encode(key, modifiers, cursor));
    }
    if modifiers == 0 {
        return Ok(word.as_bytes().to_vec());
    }
    let mut characters = name.chars();
    let (Some(c), None) = (characters.next(), characters.next()) else {
        // A word like `C-style` is text.
        return Ok(word.as_bytes().to_vec());
    };
    let mut text = if modifiers & ALT == 0 { Vec::new() } else { vec![0x1b] };
    let c = if modifiers & SHIFT == 0 { c } else { c.to_ascii_uppercase() };
    if modifiers & CONTROL == 0 {
        text.extend(c.to_string().bytes());
    } else {
        let invalid = || format!("invalid key {word:?}: expected for example C-c or M-x");
        text.push(control(c).ok_or_else(invalid)?);
    }
    Ok(text)
}

/// Splits off modifiers: `C-`, `^`, `M-`, `S-`, in any order.
fn modifiers(word: &str) -> (u8, &str) {
    let mut modifiers = 0;
    let mut rest = word;
    loop {
        let known = [
            ("C-", CONTROL),
            ("c-", CONTROL),
            ("^", CONTROL),
            ("M-", ALT),
            ("m-", ALT),
            ("S-", SHIFT),
            ("s-", SHIFT),
        ];
        let found = known.into_iter().find_map(|(mark, modifier)| {
            rest.strip_prefix(mark).filter(|rest| !rest.is_empty()).map(|rest| (rest, modifier))
        });
        match found {
            Some((shorter, modifier)) => {
                rest = shorter;
                modifiers |= modifier;
            }
            None => return (modifiers, rest),
        }
    }
}

fn control(c: char) -> Option<u8> {
    match c.to_ascii_uppercase() {
        c @ '@'..='_' => Some(c as u8 & 0x1f),
        ' ' => Some(0),
        '?' => Some(0x7f),
        _ => None,
    }
}

fn encode(key: Special, modifiers: u8, cursor: CursorKeys) -> Vec<u8> {
    let number = modifiers + 1;
    let text = match key {
        // Shift-Tab has its own sequence.
        Special::Plain("\t") if modifiers == SHIFT => "\x1b[Z".to_owned(),
        Special::Plain(" ") if modifiers & CONTROL != 0 => alt(modifiers, "\0"),
        Special::Plain(text) => alt(modifiers, text),
        Special::Cursor(letter) if modifiers == 0 => match cursor {
            CursorKeys::Normal => format!("\x1b[{letter}"),
            CursorKeys::Application => format!("\x1bO{letter}"),
        },
        Special::Function(letter) if modifiers == 0 => format!("\x1bO{letter}"),
        Special::Cursor(letter) | Special::Function(letter) => format!("\x1b[1;{number}{letter}"),
        Special::Numbered(code) if modifiers == 0 => format!("\x1b[{code}~"),
        Special::Numbered(code) => format!("\x1b[{code};{number}~"),
    };
    text.into_bytes()
}

fn alt(modifiers: u8, text: &str) -> String {
    if modifiers & ALT == 0 { text.to_owned() } else { format!("\x1b{text}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(word: &str) -> Vec<u8> {
        bytes(word, CursorKeys::Normal).unwrap()
    }

    #[test]
    fn encodes_keys_like_a_terminal() {
        for (word, sent) in [
            ("Enter", "\r"),
            ("tab", "\t"),
            ("S-Tab", "\x1b[Z"),
            ("BTab", "\x1b[Z"),
            ("Space", " "),
            ("C-Space", "\0"),
            ("BSpace", "\x7f"),
            ("Escape", "\x1b"),
            ("Up", "\x1b[A"),
            ("C-Up", "\x1b[1;5A"),
            ("S-Left", "\x1b[1;2D"),
            ("M-Enter", "\x1b\r"),
            ("Home", "\x1b[H"),
            ("PageDown", "\x1b[6~"),
            ("C-Delete", "\x1b[3;5~"),
            ("F1", "\x1bOP"),
            ("S-F1", "\x1b[1;2P"),
            ("F12", "\x1b[24~"),
            ("C-c", "\x03"),
            ("C-C", "\x03"),
            ("^C", "\x03"),
            ("C-[", "\x1b"),
            ("C-?", "\x7f"),
            ("M-x", "\x1bx"),
            ("C-M-x", "\x1b\x18"),
            ("M-X", "\x1bX"),
        ] {
            assert_eq!(normal(word), sent.as_bytes(), "{word}");
        }
        assert_eq!(bytes("Up", CursorKeys::Application).unwrap(), b"\x1bOA");
        assert_eq!(bytes("C-Up", CursorKeys::Application).unwrap(), b"\x1b[1;5A");
    }

    #[test]
    fn sends_other_words_as_text() {
        for word in ["ls -l", ":wq", "C-style", "M-", "^", "C-", "ü", "", "Upper"] {
            assert_eq!(normal(word), word.as_bytes(), "{word}");
        }
        assert_eq!(normal("M-ü"), "\u{1b}ü".as_bytes());
    }

    #[test]
    fn refuses_keys_without_an_encoding() {
        for word in ["C-1", "C-ü", "C-M-="] {
            assert!(bytes(word, CursorKeys::Normal).unwrap_err().contains(word), "{word}");
        }
    }
}
