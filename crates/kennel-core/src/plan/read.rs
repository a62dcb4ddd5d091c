//! A plan from TOML text: every mistake in it is found, with its line.

use std::collections::BTreeMap;
use std::time::Duration;

use kennel_types::parse_time;
use kennel_types::plan::{InputSpec, Name, PlanSpec, StageSpec};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::check::complaints;
use super::problem::{PlanError, PlanProblem, Spot};
use crate::slip::did_you_mean;

mod agent;

const PLAN_KEYS: [&str; 6] = ["name", "about", "timeout", "concurrency", "inputs", "stage"];
const STAGE_KEYS: [&str; 4] = ["name", "need", "stop_rest", "agent"];
const INPUT_KEYS: [&str; 2] = ["default", "about"];

/// Reads a plan, and checks it.
///
/// # Errors
/// With everything that is wrong, and where.
pub fn parse(text: &str) -> Result<PlanSpec, PlanError> {
    let table = match DeTable::parse(text) {
        Ok(table) => table,
        Err(error) => {
            let at = error.span().map_or(0, |span| span.start);
            let words: Vec<_> = error.message().lines().map(str::trim).collect();
            let problem = PlanProblem { at: Some(position(text, at)), text: words.join("; ") };
            return Err(PlanError(vec![problem]));
        }
    };
    let mut reader = Reader { text, problems: Vec::new(), spots: BTreeMap::new() };
    let plan = reader.plan(table.get_ref());
    match plan {
        Some(plan) if reader.problems.is_empty() => {
            reader.check(&plan);
            PlanError::none_of(reader.told())?;
            Ok(plan)
        }
        _ => Err(PlanError(reader.told())),
    }
}

/// The line and the column of a byte.
fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}

/// `a string`, `an integer`.
fn a(kind: &str) -> String {
    let article = if kind.starts_with(['a', 'i', 'o']) { "an" } else { "a" };
    format!("{article} {kind}")
}

/// A text while it is understood.
struct Reader<'t> {
    text: &'t str,
    /// Each with the byte that it is at.
    problems: Vec<(usize, String)>,
    /// Where each thing of the plan, and each of its keys, is written: from, to.
    spots: BTreeMap<(Spot, String), (usize, usize)>,
}

/// A table, and what of the plan it is.
struct Part<'a, 't> {
    table: &'a DeTable<'t>,
    spot: Spot,
    /// What it is called in a complaint: `[[stage]]`.
    title: String,
    /// Where it is written.
    at: usize,
}

type Value<'a, 't> = &'a Spanned<DeValue<'t>>;

impl Reader<'_> {
    fn wrong(&mut self, at: usize, text: impl Into<String>) {
        self.problems.push((at, text.into()));
    }

    fn told(self) -> Vec<PlanProblem> {
        let mut problems = self.problems;
        problems.sort();
        let told = |(at, text)| PlanProblem { at: Some(position(self.text, at)), text };
        problems.into_iter().map(told).collect()
    }

    /// What is wrong with the plan as such, at the places where that is written.
    fn check(&mut self, plan: &PlanSpec) {
        for complaint in complaints(plan) {
            let spot = |key: &str| self.spots.get(&(complaint.spot.clone(), key.to_owned()));
            let (from, to) = spot(complaint.key).or_else(|| spot("")).copied().unwrap_or_default();
            let inside = complaint
                .written
                .and_then(|written| self.text.get(from..to).and_then(|text| text.find(&written)));
            self.wrong(from + inside.unwrap_or(0), complaint.text);
        }
    }

    fn plan(&mut self, table: &DeTable<'_>) -> Option<PlanSpec> {
        let part = Part { table, spot: Spot::Plan, title: "a plan".to_owned(), at: 0 };
        self.keys(&part, &PLAN_KEYS);
        let name = self.name(&part);
        let plan = PlanSpec {
            about: self.string(&part, "about"),
            timeout: self.time(&part, "timeout"),
            concurrency: self.number(&part, "concurrency"),
            inputs: self.inputs(table),
            stages: self.stages(&part),
            name: name?,
        };
        Some(plan)
    }

    fn inputs(&mut self, table: &DeTable<'_>) -> BTreeMap<Name, InputSpec> {
        let mut inputs = BTreeMap::new();
        let Some(value) = table.get("inputs") else { return inputs };
        let DeValue::Table(table) = value.get_ref() else {
            let kind = a(value.get_ref().type_str());
            self.wrong(value.span().start, format!("[inputs] is a table, and not {kind}"));
            return inputs;
        };
        for (key, value) in table {
            let name = match Name::parse(key.get_ref()) {
                Ok(name) => name,
                Err(error) => {
                    self.wrong(key.span().start, error.to_string());
                    continue;
                }
            };
            let DeValue::Table(table) = value.get_ref() else {
                let text = format!(
                    "the input {name} is a table: write {name} = {{ default = \"…\" }}, or {name} = {{}} for one that must be said"
                );
                self.wrong(value.span().start, text);
                continue;
            };
            let (spot, title) = (Spot::Input(name.to_string()), format!("the input {name}"));
            let part = Part { table, spot, title, at: key.span().start };
            self.keys(&part, &INPUT_KEYS);
            let (default, about) = (self.string(&part, "default"), self.string(&part, "about"));
            inputs.insert(name, InputSpec { default, about });
        }
        inputs
    }

    fn stages(&mut self, plan: &Part<'_, '_>) -> Vec<StageSpec> {
        let tables = self.tables(plan, "stage", "[[stage]]");
        let stages = tables.into_iter().enumerate().filter_map(|(number, (table, at))| {
            let part = Part { table, spot: Spot::Stage(number), title: "[[stage]]".into(), at };
            self.keys(&part, &STAGE_KEYS);
            let name = self.name(&part);
            let stage = StageSpec {
                need: self.number(&part, "need"),
                stop_rest: self.flag(&part, "stop_rest").unwrap_or(false),
                agents: self.agents(&part, number),
                name: name?,
            };
            Some(stage)
        });
        stages.collect()
    }

    /// Complains of keys that nobody knows, and remembers where the others are.
    fn keys(&mut self, part: &Part<'_, '_>, known: &[&'static str]) {
        self.spots.insert((part.spot.clone(), String::new()), (part.at, part.at));
        for (key, value) in part.table {
            let name = key.get_ref().as_ref();
            if known.contains(&name) {
                let span = value.span();
                self.spots.insert((part.spot.clone(), name.to_owned()), (span.start, span.end));
            } else {
                let near = did_you_mean(name, known.iter().copied());
                let text = format!("unknown key `{name}` in {}{near}", part.title);
                self.wrong(key.span().start, text);
            }
        }
    }

    fn mistaken(&mut self, value: Value<'_, '_>, key: &str, wanted: &str) {
        let kind = a(value.get_ref().type_str());
        self.wrong(value.span().start, format!("`{key}` is {wanted}, and not {kind}"));
    }

    fn name(&mut self, part: &Part<'_, '_>) -> Option<Name> {
        if part.table.get("name").is_none() {
            self.wrong(part.at, format!("{} has no `name`", part.title));
        }
        let text = self.string(part, "name")?;
        let at = self.spots.get(&(part.spot.clone(), "name".to_owned())).map_or(part.at, |at| at.0);
        Name::parse(&text).map_err(|error| self.wrong(at, error.to_string())).ok()
    }

    fn string(&mut self, part: &Part<'_, '_>, key: &str) -> Option<String> {
        let value = part.table.get(key)?;
        match value.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            _ => {
                self.mistaken(value, key, "a string");
                None
            }
        }
    }

    fn strings(&mut self, part: &Part<'_, '_>, key: &str) -> Vec<String> {
        let Some(value) = part.table.get(key) else { return Vec::new() };
        let DeValue::Array(array) = value.get_ref() else {
            self.mistaken(value, key, "a list of strings");
            return Vec::new();
        };
        let strings = array.iter().filter_map(|item| match item.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            _ => {
                self.mistaken(item, key, "a list of strings");
                None
            }
        });
        strings.collect()
    }

    fn flag(&mut self, part: &Part<'_, '_>, key: &str) -> Option<bool> {
        let value = part.table.get(key)?;
        if value.get_ref().as_bool().is_none() {
            self.mistaken(value, key, "true or false");
        }
        value.get_ref().as_bool()
    }

    fn number(&mut self, part: &Part<'_, '_>, key: &str) -> Option<u32> {
        let value = part.table.get(key)?;
        let DeValue::Integer(number) = value.get_ref() else {
            self.mistaken(value, key, "a number");
            return None;
        };
        let read = u32::from_str_radix(number.as_str(), number.radix());
        if read.is_err() {
            let text = format!("`{key}` is a number from 0 to {}, and not {number}", u32::MAX);
            self.wrong(value.span().start, text);
        }
        read.ok()
    }

    fn time(&mut self, part: &Part<'_, '_>, key: &str) -> Option<Duration> {
        let value = part.table.get(key)?;
        let text = match value.get_ref() {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) => number.to_string(),
            _ => {
                self.mistaken(value, key, "a time, like \"20m\"");
                return None;
            }
        };
        let wrong = |error| self.wrong(value.span().start, format!("`{key}`: {error}"));
        parse_time(&text).map_err(wrong).ok()
    }

    /// The tables of an array of them, and where each is written.
    fn tables<'a, 't>(
        &mut self,
        part: &Part<'a, 't>,
        key: &str,
        title: &str,
    ) -> Vec<(&'a DeTable<'t>, usize)> {
        let Some(value) = part.table.get(key) else { return Vec::new() };
        let DeValue::Array(array) = value.get_ref() else {
            let text =
                format!("`{key}` is written as {title}, with two brackets: there may be several");
            self.wrong(value.span().start, text);
            return Vec::new();
        };
        let tables = array.iter().filter_map(|item| match item.get_ref() {
            DeValue::Table(table) => Some((table, item.span().start)),
            _ => {
                self.mistaken(item, key, "a list of tables");
                None
            }
        });
        tables.collect()
    }
}
