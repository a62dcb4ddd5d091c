//! `mock-llm --port P [--log FILE]`: the mock for use by hand. The log goes to stdout otherwise.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::process::ExitCode;
use std::thread;

use mock_llm::{Commands, Server};

const USAGE: &str = "usage: mock-llm --port PORT [--log FILE]";

fn main() -> ExitCode {
    match start(std::env::args().skip(1)) {
        Ok(server) => {
            eprintln!("mock-llm: {}", server.base_url("ok"));
            let names: Vec<&str> = server.commands().names().collect();
            eprintln!("mock-llm: commands: {}", names.join(" "));
            loop {
                thread::park();
            }
        }
        Err(error) => {
            eprintln!("mock-llm: {error}");
            ExitCode::from(2)
        }
    }
}

fn start(mut arguments: impl Iterator<Item = String>) -> io::Result<Server> {
    let usage = || io::Error::new(io::ErrorKind::InvalidInput, USAGE);
    let mut port = None;
    let mut log: Box<dyn Write + Send> = Box::new(io::stdout());
    while let Some(option) = arguments.next() {
        let value = arguments.next().ok_or_else(usage)?;
        match option.as_str() {
            "--port" => port = Some(value.parse().map_err(|_| usage())?),
            "--log" => log = Box::new(OpenOptions::new().create(true).append(true).open(value)?),
            _ => return Err(usage()),
        }
    }
    Server::start_at(port.ok_or_else(usage)?, Commands::default(), log)
}
