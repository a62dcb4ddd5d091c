//! JSON values that are parsed without copies, and that accept any type for compatibility with
//! later versions.

use std::borrow::Cow;
use std::fmt;

use kennel_types::TokenUsage;
use kennel_types::beginning_of;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A string, borrowed if it has no escapes. A value of another type becomes an empty string.
///
/// Serde always copies a field of type `Option<Cow<str>>`.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct JsonText<'a>(pub(crate) Cow<'a, str>);

impl std::ops::Deref for JsonText<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for JsonText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonTextVisitor)
    }
}

struct JsonTextVisitor;

/// Implements the visitor methods of these types with a default value.
macro_rules! ignore_types {
    ($lifetime:lifetime, $value:expr; $($what:ident),*) => {
        $(ignore_types!(@ $lifetime, $value, $what);)*
    };
    (@ $l:lifetime, $value:expr, unit) => {
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok($value)
        }
    };
    (@ $l:lifetime, $value:expr, bool) => {
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok($value)
        }
    };
    (@ $l:lifetime, $value:expr, numbers) => {
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok($value)
        }

        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok($value)
        }

        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok($value)
        }
    };
    (@ $l:lifetime, $value:expr, str) => {
        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
            Ok($value)
        }
    };
    (@ $l:lifetime, $value:expr, seq) => {
        fn visit_seq<A: SeqAccess<$l>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            Ok($value)
        }
    };
    (@ $l:lifetime, $value:expr, map) => {
        fn visit_map<A: MapAccess<$l>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok($value)
        }
    };
}

impl<'de> Visitor<'de> for JsonTextVisitor {
    type Value = JsonText<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<JsonText<'de>, E> {
        Ok(JsonText(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<JsonText<'de>, E> {
        Ok(JsonText(Cow::Owned(text.to_owned())))
    }

    ignore_types!('de, JsonText::default(); unit, bool, numbers, seq, map);
}

/// A whole number; 0 for a value of another type.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JsonCount(pub(crate) u64);

impl<'de> Deserialize<'de> for JsonCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonNumberVisitor).map(|number| Self(number.whole))
    }
}

/// A number; `None` for a value of another type.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(crate) struct JsonNumber(pub(crate) Option<f64>);

impl<'de> Deserialize<'de> for JsonNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonNumberVisitor).map(|number| Self(number.exact))
    }
}

#[derive(Default)]
struct ParsedNumber {
    whole: u64,
    exact: Option<f64>,
}

struct JsonNumberVisitor;

impl<'de> Visitor<'de> for JsonNumberVisitor {
    type Value = ParsedNumber;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_u64<E>(self, number: u64) -> Result<ParsedNumber, E> {
        // It is a delay or a price: the precision of huge ones doesn't matter.
        Ok(ParsedNumber { whole: number, exact: Some(number as f64) })
    }

    fn visit_i64<E>(self, number: i64) -> Result<ParsedNumber, E> {
        // It is a delay or a price: the precision of huge ones doesn't matter.
        Ok(ParsedNumber { whole: u64::try_from(number).unwrap_or(0), exact: Some(number as f64) })
    }

    fn visit_f64<E>(self, number: f64) -> Result<ParsedNumber, E> {
        // Saturates, and converts negative numbers and NaN to 0.
        Ok(ParsedNumber { whole: number as u64, exact: Some(number) })
    }

    ignore_types!('de, ParsedNumber::default(); unit, bool, str, seq, map);
}

/// A boolean; `None` for a value of another type.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JsonBool(pub(crate) Option<bool>);

impl<'de> Deserialize<'de> for JsonBool {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonBoolVisitor)
    }
}

struct JsonBoolVisitor;

impl<'de> Visitor<'de> for JsonBoolVisitor {
    type Value = JsonBool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_bool<E>(self, truth: bool) -> Result<JsonBool, E> {
        Ok(JsonBool(Some(truth)))
    }

    ignore_types!('de, JsonBool::default(); unit, numbers, str, seq, map);
}

/// A list; empty for a value of another type.
#[derive(Debug)]
pub(crate) struct JsonList<T>(pub(crate) Vec<T>);

impl<T> Default for JsonList<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for JsonList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonListVisitor(std::marker::PhantomData))
    }
}

struct JsonListVisitor<T>(std::marker::PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for JsonListVisitor<T> {
    type Value = JsonList<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<JsonList<T>, A::Error> {
        let mut all = Vec::new();
        while let Some(one) = seq.next_element()? {
            all.push(one);
        }
        Ok(JsonList(all))
    }

    ignore_types!('de, JsonList::default(); unit, bool, numbers, str, map);
}

/// An error object, as several agents print it.
#[derive(serde::Deserialize, Default)]
#[serde(default)]
pub(crate) struct ErrorMessage<'a> {
    #[serde(borrow)]
    pub(crate) message: JsonText<'a>,
}

/// Returns the usage of an agent whose input tokens include the cached ones.
pub(crate) fn usage_with_cached(
    input: JsonCount,
    cached: JsonCount,
    output: JsonCount,
) -> TokenUsage {
    TokenUsage {
        input_tokens: input.0.saturating_sub(cached.0),
        cached_tokens: cached.0,
        output_tokens: output.0,
        cost_micros: 0,
    }
}

/// The keys of a tool's input that summarize it, in order of preference.
const SUMMARY_KEYS: [&str; 9] = [
    "command",
    "file_path",
    "path",
    "filePath",
    "pattern",
    "query",
    "url",
    "description",
    "prompt",
];

/// The maximum length of a summary, in bytes.
const MAX_SUMMARY: usize = 120;

/// A short line that summarizes a tool's input.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct ToolSummary(pub(crate) String);

impl<'de> Deserialize<'de> for ToolSummary {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ToolSummaryVisitor)
    }
}

struct ToolSummaryVisitor;

impl<'de> Visitor<'de> for ToolSummaryVisitor {
    type Value = ToolSummary;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_str<E>(self, text: &str) -> Result<ToolSummary, E> {
        Ok(ToolSummary(one_line(text)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ToolSummary, A::Error> {
        let mut best: Option<(usize, String)> = None;
        while let Some(key) = map.next_key::<JsonText<'de>>()? {
            let rank = SUMMARY_KEYS.iter().position(|name| *name == &*key);
            match rank {
                Some(rank) if best.as_ref().is_none_or(|(other, _)| rank < *other) => {
                    let text = map.next_value::<JsonText<'de>>()?;
                    if !text.is_empty() {
                        best = Some((rank, one_line(&text)));
                    }
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(ToolSummary(best.map(|(_, text)| text).unwrap_or_default()))
    }

    ignore_types!('de, ToolSummary::default(); unit, bool, numbers, seq);
}

/// Returns the start of a text as one line.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().filter(|c| !c.is_control()).take(MAX_SUMMARY));
        if line.len() > MAX_SUMMARY {
            line.truncate(beginning_of(&line, MAX_SUMMARY).len());
            line.push('…');
            break;
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct SampleLine<'a> {
        #[serde(borrow, default)]
        text: JsonText<'a>,
        #[serde(default)]
        count: JsonCount,
        #[serde(default)]
        amount: JsonNumber,
        #[serde(default)]
        truth: JsonBool,
        #[serde(borrow, default)]
        list: JsonList<JsonText<'a>>,
        #[serde(default)]
        about: ToolSummary,
    }

    #[test]
    fn borrows_text_without_escapes() {
        let line: SampleLine<'_> = serde_json::from_str(r#"{"text":"plain"}"#).unwrap();
        assert!(matches!(line.text.0, Cow::Borrowed("plain")));
        let line: SampleLine<'_> = serde_json::from_str(r#"{"text":"a\nb"}"#).unwrap();
        assert_eq!(&*line.text, "a\nb");
    }

    #[test]
    fn accepts_values_of_other_types() {
        for value in ["null", "true", "-1", "1.5", "\"x\"", "[1,{}]", r#"{"a":[1]}"#] {
            let text = format!(
                r#"{{"text":{value},"count":{value},"amount":{value},"truth":{value},"list":{value},"about":{value}}}"#
            );
            let line: SampleLine<'_> = serde_json::from_str(&text).unwrap();
            assert_eq!(&*line.text, if value == "\"x\"" { "x" } else { "" });
            assert_eq!(line.count.0, u64::from(value == "1.5"));
            let numbers = ["-1", "1.5"];
            assert_eq!(line.amount.0.is_some(), numbers.contains(&value));
            assert_eq!(line.truth.0, (value == "true").then_some(true));
            assert_eq!(line.list.0.len(), if value == "[1,{}]" { 2 } else { 0 });
            assert_eq!(line.about.0, if value == "\"x\"" { "x" } else { "" });
        }
    }

    #[test]
    fn summarizes_a_tool_in_one_short_line() {
        let input = r#"{"description":"d","command":"echo\n  two\tlines","n":1}"#;
        let about: ToolSummary = serde_json::from_str(input).unwrap();
        assert_eq!(about.0, "echo two lines");
        let long = "wörd ".repeat(100);
        assert!(one_line(&long).chars().count() <= MAX_SUMMARY + 1);
        assert_eq!(one_line(&"ü".repeat(1000)).chars().last(), Some('…'));
        assert_eq!(one_line("\u{1b}[91mred"), "[91mred");
    }
}
