//! As much of JSON as `report` needs to write.

use std::fmt::{self, Display, Formatter, Write as _};

/// A JSON value.
#[derive(Debug)]
pub(crate) enum Json {
    Text(String),
    Number(i64),
    Bool(bool),
    List(Vec<Json>),
    /// In the order given.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// A string.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Json::Text(text.into())
    }
}

impl Display for Json {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Json::Text(text) => write_text(f, text),
            Json::Number(number) => write!(f, "{number}"),
            Json::Bool(value) => write!(f, "{value}"),
            Json::List(values) => {
                f.write_char('[')?;
                for (index, value) in values.iter().enumerate() {
                    write_comma(f, index)?;
                    write!(f, "{value}")?;
                }
                f.write_char(']')
            }
            Json::Object(fields) => {
                f.write_char('{')?;
                for (index, (name, value)) in fields.iter().enumerate() {
                    write_comma(f, index)?;
                    write_text(f, name)?;
                    write!(f, ":{value}")?;
                }
                f.write_char('}')
            }
        }
    }
}

/// The comma before every element but the first.
fn write_comma(f: &mut Formatter<'_>, index: usize) -> fmt::Result {
    if index > 0 {
        f.write_char(',')?;
    }
    Ok(())
}

/// Writes a string with the necessary escapes.
fn write_text(f: &mut Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for character in text.chars() {
        match character {
            '"' | '\\' => write!(f, "\\{character}")?,
            '\u{0}'..='\u{1f}' => write!(f, "\\u{:04x}", u32::from(character))?,
            _ => f.write_char(character)?,
        }
    }
    f.write_char('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_parser_reads_it_back() {
        let odd = "a \"quoted\" \\ back\nline\ttab \u{1} \u{7f} é 🐕";
        let value = Json::Object(vec![
            (odd.into(), Json::text(odd)),
            ("list".into(), Json::List(vec![Json::Number(-3), Json::Bool(true)])),
            ("empty".into(), Json::List(vec![])),
        ]);
        let parsed: serde_json::Value =
            serde_json::from_str(&value.to_string()).expect("valid JSON");
        let expected = serde_json::json!({ odd: odd, "list": [-3, true], "empty": [] });
        assert_eq!(parsed, expected);
    }
}
