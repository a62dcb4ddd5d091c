//! Pieces of JSON, read without copies, and with a mind for versions to come.

use std::borrow::Cow;
use std::fmt;

use kennel_types::beginning_of;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A string, borrowed where nothing in it is escaped. Anything else than a string is read over, and is empty.
///
/// A field of `Option<Cow<str>>` would always be a copy.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Text<'a>(pub(crate) Cow<'a, str>);

impl std::ops::Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

/// Reads over whatever it is, with this value in its place.
macro_rules! read_over {
    ($lifetime:lifetime, $value:expr; $($what:ident),*) => {
        $(read_over!(@ $lifetime, $value, $what);)*
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

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Owned(text.to_owned())))
    }

    read_over!('de, Text::default(); unit, bool, numbers, seq, map);
}

/// A number that counts something; 0 if it is none.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Count(pub(crate) u64);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberVisitor).map(|number| Self(number.whole))
    }
}

/// A number with a fraction; none if it is no number.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(crate) struct Amount(pub(crate) Option<f64>);

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberVisitor).map(|number| Self(number.exact))
    }
}

#[derive(Default)]
struct Number {
    whole: u64,
    exact: Option<f64>,
}

struct NumberVisitor;

impl<'de> Visitor<'de> for NumberVisitor {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_u64<E>(self, number: u64) -> Result<Number, E> {
        // A delay or a price: the last digits of a huge one do not matter.
        Ok(Number { whole: number, exact: Some(number as f64) })
    }

    fn visit_i64<E>(self, number: i64) -> Result<Number, E> {
        // A delay or a price: the last digits of a huge one do not matter.
        Ok(Number { whole: u64::try_from(number).unwrap_or(0), exact: Some(number as f64) })
    }

    fn visit_f64<E>(self, number: f64) -> Result<Number, E> {
        // Saturates, and makes 0 of what is negative or not a number.
        Ok(Number { whole: number as u64, exact: Some(number) })
    }

    read_over!('de, Number::default(); unit, bool, str, seq, map);
}

/// Whether it is `true`; none if it is neither.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Truth(pub(crate) Option<bool>);

impl<'de> Deserialize<'de> for Truth {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TruthVisitor)
    }
}

struct TruthVisitor;

impl<'de> Visitor<'de> for TruthVisitor {
    type Value = Truth;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Truth, E> {
        Ok(Truth(Some(truth)))
    }

    read_over!('de, Truth::default(); unit, numbers, str, seq, map);
}

/// A list; empty if it is anything else.
#[derive(Debug)]
pub(crate) struct List<T>(pub(crate) Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ListVisitor(std::marker::PhantomData))
    }
}

struct ListVisitor<T>(std::marker::PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = List<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<List<T>, A::Error> {
        let mut all = Vec::new();
        while let Some(one) = seq.next_element()? {
            all.push(one);
        }
        Ok(List(all))
    }

    read_over!('de, List::default(); unit, bool, numbers, str, map);
}

/// What of a tool's input tells a person what it is about: the first of these that is a text.
const TELLING: [&str; 9] = [
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

/// The most characters that are said about a tool's use.
const MOST_ABOUT: usize = 120;

/// A tool's input, of which one short line is kept.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct About(pub(crate) String);

impl<'de> Deserialize<'de> for About {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AboutVisitor)
    }
}

struct AboutVisitor;

impl<'de> Visitor<'de> for AboutVisitor {
    type Value = About;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_str<E>(self, text: &str) -> Result<About, E> {
        Ok(About(one_line(text)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<About, A::Error> {
        let mut best: Option<(usize, String)> = None;
        while let Some(key) = map.next_key::<Text<'de>>()? {
            let rank = TELLING.iter().position(|name| *name == &*key);
            match rank {
                Some(rank) if best.as_ref().is_none_or(|(other, _)| rank < *other) => {
                    let text = map.next_value::<Text<'de>>()?;
                    if !text.is_empty() {
                        best = Some((rank, one_line(&text)));
                    }
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(About(best.map(|(_, text)| text).unwrap_or_default()))
    }

    read_over!('de, About::default(); unit, bool, numbers, seq);
}

/// The beginning of a text as one line.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().filter(|c| !c.is_control()).take(MOST_ABOUT));
        if line.len() > MOST_ABOUT {
            line.truncate(beginning_of(&line, MOST_ABOUT).len());
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
    struct Line<'a> {
        #[serde(borrow, default)]
        text: Text<'a>,
        #[serde(default)]
        count: Count,
        #[serde(default)]
        amount: Amount,
        #[serde(default)]
        truth: Truth,
        #[serde(borrow, default)]
        list: List<Text<'a>>,
        #[serde(default)]
        about: About,
    }

    #[test]
    fn plain_text_is_borrowed() {
        let line: Line<'_> = serde_json::from_str(r#"{"text":"plain"}"#).unwrap();
        assert!(matches!(line.text.0, Cow::Borrowed("plain")));
        let line: Line<'_> = serde_json::from_str(r#"{"text":"a\nb"}"#).unwrap();
        assert_eq!(&*line.text, "a\nb");
    }

    #[test]
    fn a_value_of_another_kind_is_read_over() {
        for value in ["null", "true", "-1", "1.5", "\"x\"", "[1,{}]", r#"{"a":[1]}"#] {
            let text = format!(
                r#"{{"text":{value},"count":{value},"amount":{value},"truth":{value},"list":{value},"about":{value}}}"#
            );
            let line: Line<'_> = serde_json::from_str(&text).unwrap();
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
    fn what_a_tool_is_about_is_one_short_line() {
        let input = r#"{"description":"d","command":"echo\n  two\tlines","n":1}"#;
        let about: About = serde_json::from_str(input).unwrap();
        assert_eq!(about.0, "echo two lines");
        let long = "wörd ".repeat(100);
        assert!(one_line(&long).chars().count() <= MOST_ABOUT + 1);
        assert_eq!(one_line(&"ü".repeat(1000)).chars().last(), Some('…'));
        assert_eq!(one_line("\u{1b}[91mred"), "[91mred");
    }
}
