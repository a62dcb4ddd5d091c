//! JSON values that are parsed without copies, and that accept any type for compatibility with
//! later versions.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use kennel_types::{TokenUsage, beginning_of};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A value that is the default if the JSON value has another type.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Json<T>(pub(crate) T);

/// A string, borrowed if it has no escapes. Serde would always copy an `Option<Cow<str>>`.
pub(crate) type JsonText<'a> = Json<Cow<'a, str>>;
pub(crate) type JsonCount = Json<u64>;
pub(crate) type JsonNumber = Json<Option<f64>>;
pub(crate) type JsonBool = Json<Option<bool>>;
pub(crate) type JsonList<T> = Json<Vec<T>>;

impl std::ops::Deref for JsonText<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de, T: FromJson<'de>> Deserialize<'de> for Json<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FromJsonVisitor(PhantomData)).map(Self)
    }
}

/// Converts the JSON types that a type supports; the others become the default.
pub(crate) trait FromJson<'de>: Default {
    fn from_bool(_: bool) -> Self {
        Self::default()
    }

    /// Counts, delays and prices don't need the precision of huge integers.
    fn from_number(_: f64) -> Self {
        Self::default()
    }

    fn from_text(_: Cow<'de, str>) -> Self {
        Self::default()
    }

    fn from_list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }

    fn from_map<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
}

struct FromJsonVisitor<T>(PhantomData<T>);

impl<'de, T: FromJson<'de>> Visitor<'de> for FromJsonVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_bool<E>(self, value: bool) -> Result<T, E> {
        Ok(T::from_bool(value))
    }

    fn visit_u64<E>(self, number: u64) -> Result<T, E> {
        Ok(T::from_number(number as f64))
    }

    fn visit_i64<E>(self, number: i64) -> Result<T, E> {
        Ok(T::from_number(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<T, E> {
        Ok(T::from_number(number))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<T, E> {
        Ok(T::from_text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::from_text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
        T::from_list(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::from_map(map)
    }
}

impl<'de: 'a, 'a> FromJson<'de> for Cow<'a, str> {
    fn from_text(text: Cow<'de, str>) -> Self {
        text
    }
}

impl FromJson<'_> for u64 {
    fn from_number(number: f64) -> Self {
        // Saturates, and converts negative numbers and NaN to 0.
        number as Self
    }
}

impl FromJson<'_> for Option<f64> {
    fn from_number(number: f64) -> Self {
        Some(number)
    }
}

impl FromJson<'_> for Option<bool> {
    fn from_bool(value: bool) -> Self {
        Some(value)
    }
}

impl<'de, T: Deserialize<'de>> FromJson<'de> for Vec<T> {
    fn from_list<A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        Self::deserialize(SeqAccessDeserializer::new(list))
    }
}

/// Returns the price in millionths of a dollar.
pub(crate) fn cost_micros(dollars: Option<f64>) -> u64 {
    // Saturates, and converts negative numbers and NaN to 0.
    (dollars.unwrap_or(0.0) * 1e6).round() as u64
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

impl<'de> FromJson<'de> for ToolSummary {
    fn from_text(text: Cow<'de, str>) -> Self {
        Self(one_line(&text))
    }

    fn from_map<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        let mut best = (SUMMARY_KEYS.len(), String::new());
        while let Some(key) = map.next_key::<JsonText<'de>>()? {
            let rank = SUMMARY_KEYS.iter().position(|name| *name == &*key);
            let Some(rank) = rank.filter(|rank| *rank < best.0) else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let text = map.next_value::<JsonText<'de>>()?;
            if !text.is_empty() {
                best = (rank, one_line(&text));
            }
        }
        Ok(Self(best.1))
    }
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
        about: Json<ToolSummary>,
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
            assert_eq!(line.about.0.0, if value == "\"x\"" { "x" } else { "" });
        }
    }

    #[test]
    fn summarizes_a_tool_in_one_short_line() {
        let input = r#"{"description":"d","command":"echo\n  two\tlines","n":1}"#;
        let about: Json<ToolSummary> = serde_json::from_str(input).unwrap();
        assert_eq!(about.0.0, "echo two lines");
        let long = "wörd ".repeat(100);
        assert!(one_line(&long).chars().count() <= MAX_SUMMARY + 1);
        assert_eq!(one_line(&"ü".repeat(1000)).chars().last(), Some('…'));
        assert_eq!(one_line("\u{1b}[91mred"), "[91mred");
    }
}
