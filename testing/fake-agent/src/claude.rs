//! A scripted agent CLI: started under the name `claude`, it prints the messages that Claude Code
//! prints with `--output-format stream-json`.
//!
//! The folder `$FAKE_CLAUDE` (by default `claude` in the working folder) contains the file
//! `script`, with one line for each launch; the last line applies to all further launches. The
//! agent appends to the file `log`: `start PID LAUNCH CONVERSATION PROMPT` for each launch, and
//! `COLLISION PID` for a launch that was not alone. All its descendants hold the lock too. Without
//! `-p` it runs on a terminal and reads input until `bye`.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use rustix::io::{FdFlags, fcntl_setfd};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

use crate::args::Args;
use crate::failure::{self, Failure, OrFail as _, Outcome};
use crate::json::Json;
use crate::lock::{LAUNCH_VARIABLE, note_more, take};
use crate::output::print;
use crate::presence;
use crate::signals::ignore_polite_signals;
use crate::spawn::{self, Session, Up};

/// Names the folder.
const FOLDER: &str = "FAKE_CLAUDE";

/// `claude [FLAGS..]`
pub(crate) fn claude(mut args: Args) -> Outcome {
    let words: Vec<String> =
        args.remaining().iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let folder = match std::env::var_os(FOLDER) {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from("claude"),
    };
    let resumed = words.iter().position(|word| word == "--resume").and_then(|at| words.get(at + 1));
    let launch = std::env::var(LAUNCH_VARIABLE).unwrap_or_else(|_| "-".to_owned());
    let Some(lock) = take(&folder.join("lock"))? else {
        note_more(&folder.join("log"), "COLLISION", &launch)?;
        return Ok(failure::COLLISION);
    };
    fcntl_setfd(&lock, FdFlags::empty()).or_fail(failure::SYSTEM, "handing the lock on")?;
    let on_a_terminal = !words.iter().any(|word| word == "-p");
    let mut prompt = String::new();
    if !on_a_terminal {
        let read = std::io::stdin().read_to_string(&mut prompt);
        read.or_fail(failure::SYSTEM, "reading the prompt")?;
    }
    let before = fs::read_to_string(folder.join("log")).unwrap_or_default();
    let number = before.lines().filter(|line| line.starts_with("start ")).count();
    let conversation = resumed.map_or("fresh", String::as_str);
    let first = prompt.lines().next().unwrap_or_default();
    note_more(&folder.join("log"), "start", &format!("{launch} {conversation} {first}"))?;
    if on_a_terminal {
        presence::record_pid("agent")?;
        return chat(conversation);
    }
    let script = fs::read_to_string(folder.join("script"));
    let script = script.or_fail(failure::SYSTEM, "reading the script")?;
    let lines: Vec<_> = script.lines().collect();
    let line = lines.get(number).or(lines.last()).copied().unwrap_or("ok");
    let id = match resumed {
        Some(id) => id.clone(),
        None => format!("00000000-0000-4000-8000-{:012}", number + 1),
    };
    presence::record_pid("agent")?;
    let log = folder.join("log");
    ScriptedRun { id, resumed: resumed.is_some(), log, launch }.perform(line)
}

/// Runs interactively: starts a tool that leaks, and reads input.
fn chat(conversation: &str) -> Outcome {
    let mut up = Up::new()?;
    spawn::sleeper(&mut up, "tool", Session::Own)?;
    spawn::daemon(&mut up, |up| spawn::linger_without_environment(up, "daemon", None))?;
    up.wait_for(2)?;
    print(format!("talking in {conversation}\n").as_bytes())?;
    for line in std::io::stdin().lines() {
        let line = line.or_fail(failure::SYSTEM, "listening")?;
        if line == "bye" {
            return Ok(7);
        }
        print(format!("heard {line}\n").as_bytes())?;
    }
    Ok(0)
}

struct ScriptedRun {
    id: String,
    resumed: bool,
    log: PathBuf,
    launch: String,
}

impl ScriptedRun {
    fn perform(&self, line: &str) -> Outcome {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "ok" => {
                self.init()?;
                self.text(rest)?;
                self.result(false, None, rest)?;
                Ok(0)
            }
            // Calls its provider first, and doesn't wait for the response.
            "call" => {
                let (address, rest) = rest.split_once(' ').unwrap_or((rest, ""));
                let call = format!(
                    "POST /s/ok/v1/messages HTTP/1.1\r\nHost: {address}\r\nContent-Length: 2\r\n\r\n{{}}"
                );
                let provider = TcpStream::connect(address);
                let mut provider = provider.or_fail(failure::SYSTEM, "calling the provider")?;
                let sent = provider.write_all(call.as_bytes());
                sent.or_fail(failure::SYSTEM, "calling the provider")?;
                self.perform(rest)
            }
            "overloaded" => {
                self.fail(529, "API Error: 529 Overloaded. This is a server-side issue")
            }
            "rate" => self.fail(429, "API Error: Request rejected (429) · too many"),
            "server" => self.fail(500, "API Error: 500 Internal server error."),
            "auth" => self.fail(401, "Invalid API key · Fix external API key"),
            "stale" if self.resumed => {
                print(format!("{}\n", self.stale()).as_bytes())?;
                eprintln!("No conversation found with session ID: {}", self.id);
                Ok(1)
            }
            "stale" => self.perform("ok after all"),
            "crash" => {
                self.init()?;
                Ok(3)
            }
            "tool" => {
                self.init()?;
                self.tool()?;
                self.perform(rest)
            }
            "hang" => {
                self.init()?;
                presence::rest()
            }
            // A tool that daemonizes, as many do.
            "leak" => {
                self.init()?;
                self.tool()?;
                let mut up = Up::new()?;
                spawn::sleeper(&mut up, "tool", Session::Own)?;
                spawn::daemon(&mut up, |up| spawn::linger_without_environment(up, "daemon", None))?;
                up.wait_for(2)?;
                self.perform(rest)
            }
            // The processes that it leaves ignore TERM.
            "deaf" => {
                self.init()?;
                let mut up = Up::new()?;
                spawn::fork(&mut up, |up| {
                    Session::Own.enter()?;
                    ignore_polite_signals().or_fail(failure::SYSTEM, "handling signals")?;
                    spawn::come_up(up, "deaf")?;
                    presence::rest()
                })?;
                up.wait_for(1)?;
                self.perform(rest)
            }
            // It ignores TERM, and so do its descendants.
            "ignore" => {
                ignore_polite_signals().or_fail(failure::SYSTEM, "handling signals")?;
                self.perform(rest)
            }
            "again" => self.start_another_turn_on_signal(rest),
            "nonsense" => {
                print(b"{\"type\":\"something_new\",\"done\":true}\n")?;
                Ok(0)
            }
            _ => Err(Failure::usage(format!("unknown line {line:?} in the script"))),
        }
    }

    /// Behaves like Claude Code while a background task is left: it has printed its result, and a
    /// signal makes it start another turn, which is in the log as `turn PID LAUNCH`.
    fn start_another_turn_on_signal(&self, answer: &str) -> Outcome {
        let (mut received, sender) =
            UnixStream::pair().or_fail(failure::SYSTEM, "a pair of sockets")?;
        for signal in [SIGINT, SIGTERM] {
            let sender = sender.try_clone().or_fail(failure::SYSTEM, "handling signals")?;
            pipe::register(signal, sender).or_fail(failure::SYSTEM, "handling signals")?;
        }
        self.init()?;
        self.text(answer)?;
        self.result(false, None, answer)?;
        let mut byte = [0];
        loop {
            received.read_exact(&mut byte).or_fail(failure::SYSTEM, "waiting for a signal")?;
            note_more(&self.log, "turn", &self.launch)?;
            self.text("another turn")?;
        }
    }

    fn fail(&self, status: i64, text: &str) -> Outcome {
        self.init()?;
        self.result(true, Some(status), text)?;
        Ok(1)
    }

    fn line(&self, kind: &str, mut fields: Vec<(String, Json)>) -> Outcome {
        let mut all = vec![("type".to_owned(), Json::text(kind))];
        all.append(&mut fields);
        all.push(("session_id".to_owned(), Json::text(self.id.clone())));
        print(format!("{}\n", Json::Object(all)).as_bytes())?;
        Ok(0)
    }

    fn init(&self) -> Outcome {
        self.line("system", fields([("subtype", Json::text("init")), ("cwd", Json::text("/"))]))
    }

    fn text(&self, text: &str) -> Outcome {
        let part = fields([("type", Json::text("text")), ("text", Json::text(text))]);
        self.assistant(part)
    }

    fn tool(&self) -> Outcome {
        let input = Json::Object(fields([("command", Json::text("make"))]));
        self.assistant(fields([
            ("type", Json::text("tool_use")),
            ("id", Json::text("toolu_1")),
            ("name", Json::text("Bash")),
            ("input", input),
        ]))
    }

    fn assistant(&self, part: Vec<(String, Json)>) -> Outcome {
        let message = Json::Object(fields([
            ("role", Json::text("assistant")),
            ("content", Json::List(vec![Json::Object(part)])),
        ]));
        self.line("assistant", fields([("message", message)]))
    }

    fn stale(&self) -> Json {
        let mut all = fields([
            ("type", Json::text("result")),
            ("subtype", Json::text("error_during_execution")),
            ("is_error", Json::Bool(true)),
            ("num_turns", Json::Number(0)),
        ]);
        all.push(("session_id".to_owned(), Json::text(self.id.clone())));
        let error = Json::text(format!("No conversation found with session ID: {}", self.id));
        all.push(("errors".to_owned(), Json::List(vec![error])));
        Json::Object(all)
    }

    fn result(&self, is_error: bool, status: Option<i64>, text: &str) -> Outcome {
        let usage = Json::Object(fields([
            ("input_tokens", Json::Number(10)),
            ("output_tokens", Json::Number(5)),
        ]));
        let mut all = fields([
            ("subtype", Json::text("success")),
            ("is_error", Json::Bool(is_error)),
            ("num_turns", Json::Number(1)),
            ("result", Json::text(text)),
            ("usage", usage),
        ]);
        if let Some(status) = status {
            all.push(("api_error_status".to_owned(), Json::Number(status)));
        }
        self.line("result", all)
    }
}

fn fields<const N: usize>(fields: [(&str, Json); N]) -> Vec<(String, Json)> {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
