//! `kennel strays`: processes with this home's mark that belong to no live session.

use kennel_types::api::{StrayView, StraysEnded, StraysView};

use crate::command_prelude::*;

#[derive(Debug, Args)]
#[command(after_help = exit_code::ENDING_HELP)]
pub(crate) struct StraysArgs {
    /// End the strays, but not the processes listed as `outside`
    #[arg(long)]
    end: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn strays(daemon: &DaemonClient, args: &StraysArgs) -> Result<u8, CommandError> {
    if args.end {
        let ended: StraysEnded = daemon.post("/v1/strays/end", &serde_json::json!({}))?;
        print::json_or_text(args.json, &ended, || ended_text(&ended))?;
        return Ok(if ended.still_alive.is_empty() { 0 } else { exit_code::STILL_ALIVE });
    }
    let found: StraysView = daemon.get("/v1/strays")?;
    let text = || text(&found, print::width(), ColorMode::of_stdout());
    print::json_or_text(args.json, &found, text)
}

fn ended_text(ended: &StraysEnded) -> String {
    if ended.ended.is_empty() && ended.still_alive.is_empty() {
        return "no strays\n".to_owned();
    }
    let list = |strays: &[StrayView], what: &str| {
        let line =
            |stray: &StrayView| format!("{what}: {} ({})\n", stray.pid, sanitize(&stray.name));
        strays.iter().map(line).collect::<String>()
    };
    list(&ended.ended, "ended") + &list(&ended.still_alive, "still alive")
}

fn text(found: &StraysView, width: Option<usize>, color: ColorMode) -> String {
    let mut out = String::new();
    if found.strays.is_empty() {
        out += "no strays\n";
    } else {
        out += &table(&found.strays, TextStyle::Bad).text(width, color);
        out += "\nRun `kennel strays --end` to end them.\n";
    }
    if !found.outside.is_empty() {
        out += "\nOutside (started for a session by another daemon; not owned by Kennel):\n";
        out += &table(&found.outside, TextStyle::Plain).text(width, color);
    }
    out
}

fn table(strays: &[StrayView], style: TextStyle) -> TextTable {
    let columns = [
        Column::number("PID"),
        Column::cut("NAME", 8),
        Column::whole("SESSION"),
        Column::whole("MARK"),
        Column::cut("COMMAND", 10),
    ];
    let mut table = TextTable::new(&columns);
    for stray in strays {
        table.row(vec![
            Cell::styled(stray.pid.to_string(), style),
            Cell::new(sanitize(&stray.name)),
            Cell::new(sanitize(&stray.session)),
            Cell::new(&stray.mark),
            Cell::new(sanitize(&stray.command)),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stray(pid: i32) -> StrayView {
        StrayView {
            pid,
            name: "node".to_owned(),
            command: "node server.js --port 80".to_owned(),
            session: "0c3k5d9wq2fa".to_owned(),
            mark: "cookie".to_owned(),
        }
    }

    #[test]
    fn an_empty_list_is_a_sentence() {
        assert_eq!(text(&StraysView::default(), Some(80), ColorMode::Plain), "no strays\n");
        assert_eq!(ended_text(&StraysEnded::default()), "no strays\n");
    }

    #[test]
    fn separates_strays_and_processes_outside() {
        let found = StraysView { strays: vec![stray(7)], outside: vec![stray(4711)] };
        assert_eq!(
            text(&found, Some(50), ColorMode::Plain),
            "\
PID  NAME  SESSION       MARK    COMMAND
  7  node  0c3k5d9wq2fa  cookie  node server.js -…

Run `kennel strays --end` to end them.

Outside (started for a session by another daemon; not owned by Kennel):
 PID  NAME  SESSION       MARK    COMMAND
4711  node  0c3k5d9wq2fa  cookie  node server.js …
"
        );
        let ended = StraysEnded { ended: vec![stray(7)], still_alive: vec![stray(8)] };
        assert_eq!(ended_text(&ended), "ended: 7 (node)\nstill alive: 8 (node)\n");
    }
}
