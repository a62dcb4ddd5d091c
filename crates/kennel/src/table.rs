//! Text tables that fit the width of the terminal.

use crate::print::{ColorMode, TextStyle};

/// The space between two columns.
const GAP: usize = 2;
const ELLIPSIS: char = '…';

#[derive(Debug)]
pub(crate) struct TextTable {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

/// A column, and how it may be shortened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    name: &'static str,
    /// The minimum width, if the text may be truncated.
    least: Option<usize>,
    right: bool,
    /// Whether it is omitted if the table is too wide.
    spare: bool,
}

impl Column {
    /// A column that is never truncated.
    pub(crate) const fn whole(name: &'static str) -> Self {
        Self { name, least: None, right: false, spare: false }
    }

    pub(crate) const fn number(name: &'static str) -> Self {
        Self { name, least: None, right: true, spare: false }
    }

    /// Allows the column to be omitted; the last of these is omitted first.
    pub(crate) const fn spare(mut self) -> Self {
        self.spare = true;
        self
    }

    /// A column that may be truncated to this many characters.
    pub(crate) const fn cut(name: &'static str, least: usize) -> Self {
        Self { name, least: Some(least), right: false, spare: false }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Cell {
    text: String,
    style: TextStyle,
}

impl Cell {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), style: TextStyle::Plain }
    }

    pub(crate) fn styled(text: impl Into<String>, style: TextStyle) -> Self {
        Self { text: text.into(), style }
    }
}

impl TextTable {
    pub(crate) fn new(columns: &[Column]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row with one cell for each column.
    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }

    /// Formats the table, no wider than this if possible.
    pub(crate) fn text(&self, width: Option<usize>, color: ColorMode) -> String {
        if let Some(fewer) = self.without_spare_column(width) {
            return fewer.text(width, color);
        }
        let widths = self.widths(width);
        let head = self.columns.iter().map(|column| Cell::styled(column.name, TextStyle::Heading));
        let mut out = self.line(&head.collect::<Vec<_>>(), &widths, color);
        for row in &self.rows {
            out += &self.line(row, &widths, color);
        }
        out
    }

    /// Returns the table without one spare column, if it is too wide even when truncated.
    fn without_spare_column(&self, width: Option<usize>) -> Option<Self> {
        let total =
            self.widths(width).iter().sum::<usize>() + GAP * self.columns.len().saturating_sub(1);
        if width.is_none_or(|width| total <= width) {
            return None;
        }
        let at = self.columns.iter().rposition(|column| column.spare)?;
        let mut fewer = Self { columns: self.columns.clone(), rows: self.rows.clone() };
        fewer.columns.remove(at);
        for row in &mut fewer.rows {
            row.remove(at);
        }
        Some(fewer)
    }

    /// Narrows the widest truncatable column until everything fits.
    fn widths(&self, width: Option<usize>) -> Vec<usize> {
        let natural = |(at, column): (usize, &Column)| {
            let cells = self.rows.iter().map(|row| columns_of(&row[at].text));
            cells.chain([columns_of(column.name)]).max().unwrap_or(0)
        };
        let mut widths = self.columns.iter().enumerate().map(natural).collect::<Vec<_>>();
        let Some(width) = width else { return widths };
        loop {
            let total = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
            let cuttable = (0..widths.len())
                .filter(|at| {
                    self.columns[*at].least.is_some_and(|least| widths[*at] > least.max(1))
                })
                .max_by_key(|at| widths[*at]);
            match cuttable {
                Some(at) if total > width => widths[at] -= 1,
                _ => return widths,
            }
        }
    }

    fn line(&self, cells: &[Cell], widths: &[usize], color: ColorMode) -> String {
        let mut line = String::new();
        for (at, (cell, width)) in cells.iter().zip(widths).enumerate() {
            let text = cut(&cell.text, *width);
            let room = " ".repeat(width.saturating_sub(columns_of(&text)));
            let painted = color.paint(cell.style, &text);
            let last = at + 1 == cells.len();
            line += &match (self.columns[at].right, last) {
                (true, _) => room + &painted,
                (false, true) => painted,
                (false, false) => painted + &room,
            };
            if !last {
                line += &" ".repeat(GAP);
            }
        }
        line.truncate(line.trim_end().len());
        line + "\n"
    }
}

/// Truncates text to a width, with an ellipsis.
fn cut(text: &str, width: usize) -> String {
    if columns_of(text) <= width {
        return text.to_owned();
    }
    let mut left = width.saturating_sub(1);
    let mut short = String::new();
    for c in text.chars() {
        let Some(rest) = left.checked_sub(columns_of_char(c)) else { break };
        left = rest;
        short.push(c);
    }
    short.push(ELLIPSIS);
    short
}

/// Returns how many terminal columns the text takes.
fn columns_of(text: &str) -> usize {
    text.chars().map(columns_of_char).sum()
}

/// An approximation: the Unicode blocks of wide characters, and combining marks without width.
fn columns_of_char(c: char) -> usize {
    match u32::from(c) {
        0x300..=0x36f | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0x303e
        | 0x3041..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1f64f
        | 0x1f680..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> TextTable {
        let columns = [
            Column::whole("ID"),
            Column::cut("NAME", 4),
            Column::number("PID"),
            Column::cut("COMMAND", 7),
        ];
        let mut table = TextTable::new(&columns);
        let row = |id: &str, name: &str, pid: &str, command: &str| {
            vec![
                Cell::new(id),
                Cell::new(name),
                Cell::styled(pid, TextStyle::Good),
                Cell::new(command),
            ]
        };
        table.row(row("0abc", "fix-login", "17", "claude -p 'a long prompt for it'"));
        table.row(row("0abd", "", "4711", "true"));
        table
    }

    #[test]
    fn shows_everything_without_a_width_limit() {
        assert_eq!(
            table().text(None, ColorMode::Plain),
            "ID    NAME        PID  COMMAND\n\
             0abc  fix-login    17  claude -p 'a long prompt for it'\n\
             0abd             4711  true\n"
        );
    }

    #[test]
    fn truncates_the_widest_column_first() {
        let text = table().text(Some(40), ColorMode::Plain);
        assert_eq!(
            text,
            "ID    NAME        PID  COMMAND\n\
             0abc  fix-login    17  claude -p 'a lon…\n\
             0abd             4711  true\n"
        );
        assert!(text.lines().all(|line| columns_of(line) <= 40));
    }

    #[test]
    fn never_truncates_a_whole_column() {
        let text = table().text(Some(5), ColorMode::Plain);
        assert!(text.contains("0abc  fix…    17  claude…"), "{text}");
    }

    #[test]
    fn colors_do_not_count_as_width() {
        let text = table().text(Some(40), ColorMode::Color);
        assert!(text.contains("\x1b[32m17\x1b[0m  claude"), "{text}");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(cut("漢字漢字", 8), "漢字漢字");
        assert_eq!(cut("漢字漢字", 7), "漢字漢…");
        assert_eq!(cut("漢字漢字", 6), "漢字…");
        assert_eq!(cut("abc", 0), "…");
    }
}
