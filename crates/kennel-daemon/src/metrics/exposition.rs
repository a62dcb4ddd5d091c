//! The text that Prometheus reads, version 0.0.4 of its format.

use std::fmt::{self, Display, Write as _};

use super::histogram::Histogram;

/// Written family by family.
#[derive(Debug, Default)]
pub(crate) struct Exposition(String);

/// What a family's numbers are.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// A sample's value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Number {
    Whole(u64),
    Real(f64),
}

impl From<u64> for Number {
    fn from(number: u64) -> Self {
        Self::Whole(number)
    }
}

impl From<f64> for Number {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

impl Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(number) => write!(f, "{number}"),
            Self::Real(number) if number.is_infinite() => {
                f.write_str(if *number > 0.0 { "+Inf" } else { "-Inf" })
            }
            // Rust writes NaN as the format has it.
            Self::Real(number) => write!(f, "{number}"),
        }
    }
}

impl Exposition {
    pub(super) fn counter(&mut self, name: &str, help: &str, value: impl Into<Number>) {
        self.head(name, Kind::Counter, help);
        self.sample(name, "", &[], value.into());
    }

    pub(super) fn gauge(&mut self, name: &str, help: &str, value: impl Into<Number>) {
        self.head(name, Kind::Gauge, help);
        self.sample(name, "", &[], value.into());
    }

    /// A family with one label.
    pub(super) fn by<'a>(
        &mut self,
        (name, kind, help): (&str, Kind, &str),
        label: &str,
        samples: impl IntoIterator<Item = (&'a str, u64)>,
    ) {
        self.head(name, kind, help);
        for (value, number) in samples {
            self.sample(name, "", &[(label, value)], number.into());
        }
    }

    pub(super) fn histogram(&mut self, name: &str, help: &str, histogram: &Histogram) {
        self.head(name, Kind::Histogram, help);
        let counted = histogram.counted();
        for (bound, count) in &counted.up_to {
            self.sample(name, "_bucket", &[("le", &bound.to_string())], (*count).into());
        }
        self.sample(name, "_bucket", &[("le", "+Inf")], counted.count.into());
        self.sample(name, "_sum", &[], counted.sum.into());
        self.sample(name, "_count", &[], counted.count.into());
    }

    fn head(&mut self, name: &str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        let help = Escaped { text: help, quoted: false };
        let _never_fails = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn sample(&mut self, name: &str, suffix: &str, labels: &[(&str, &str)], value: Number) {
        let mut write = || -> fmt::Result {
            write!(self.0, "{name}{suffix}")?;
            for (index, (label, value)) in labels.iter().enumerate() {
                let value = Escaped { text: value, quoted: true };
                write!(self.0, "{}{label}=\"{value}\"", if index == 0 { '{' } else { ',' })?;
            }
            writeln!(self.0, "{} {value}", if labels.is_empty() { "" } else { "}" })
        };
        let _never_fails = write();
    }

    pub(crate) fn into_text(self) -> String {
        self.0
    }
}

/// A text as the format wants it: on one line, and in a label's value without a quote.
struct Escaped<'a> {
    text: &'a str,
    quoted: bool,
}

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.text.chars() {
            match character {
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                '"' if self.quoted => f.write_str("\\\"")?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_family_has_its_help_its_type_and_its_samples() {
        let mut out = Exposition::default();
        out.counter("a_total", "How many.", 3);
        out.gauge("b_seconds", "When.", 0.25);
        out.by(("c", Kind::Gauge, "By kind."), "kind", [("x", 1), ("y", 0)]);
        assert_eq!(
            out.into_text(),
            "# HELP a_total How many.\n# TYPE a_total counter\na_total 3\n\
             # HELP b_seconds When.\n# TYPE b_seconds gauge\nb_seconds 0.25\n\
             # HELP c By kind.\n# TYPE c gauge\nc{kind=\"x\"} 1\nc{kind=\"y\"} 0\n"
        );
    }

    #[test]
    fn no_text_gets_out_of_its_line_or_its_quotes() {
        let mut out = Exposition::default();
        out.by(("a", Kind::Gauge, "C:\\ \"and\"\nmore"), "l", [("1\\2\"3\n4", 1)]);
        let text = out.into_text();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], r#"# HELP a C:\\ "and"\nmore"#);
        assert_eq!(lines[2], r#"a{l="1\\2\"3\n4"} 1"#);
        assert_eq!(lines.len(), 3, "{text}");
    }

    #[test]
    fn a_histogram_ends_with_inf_sum_and_count() {
        const BOUNDS: &[Duration] = &[Duration::from_millis(5), Duration::from_secs(1)];
        let histogram = Histogram::new(BOUNDS);
        for millis in [2, 500, 2000] {
            histogram.observe(Duration::from_millis(millis));
        }
        let mut out = Exposition::default();
        out.histogram("h_seconds", "Long.", &histogram);
        let text = out.into_text();
        let samples: Vec<_> = text.lines().skip(2).collect();
        assert_eq!(
            samples,
            [
                "h_seconds_bucket{le=\"0.005\"} 1",
                "h_seconds_bucket{le=\"1\"} 2",
                "h_seconds_bucket{le=\"+Inf\"} 3",
                "h_seconds_sum 2.502",
                "h_seconds_count 3",
            ]
        );
    }

    #[test]
    fn what_is_no_number_is_written_as_the_format_has_it() {
        let told = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1.0, 1e21];
        let told = told.map(|number| Number::from(number).to_string());
        assert_eq!(told, ["+Inf", "-Inf", "NaN", "1", "1000000000000000000000"]);
    }
}
