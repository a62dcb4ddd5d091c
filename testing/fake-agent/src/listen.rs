//! Agents that offer a service, after a delay.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::args::Args;
use crate::failure::{self, Failure, OrFail as _, Outcome};
use crate::presence::{self, MAX_LIFETIME};

/// How often the existence of a file is checked.
const PAUSE: Duration = Duration::from_millis(5);

/// `listen-socket PATH GO`
pub(crate) fn socket(mut args: Args) -> Outcome {
    let (path, go) = (args.path("PATH")?, args.path("GO")?);
    args.finish()?;
    presence::record_pid("agent")?;
    presence::ready();
    await_file(&go)?;
    let listener = UnixListener::bind(&path)
        .or_fail(failure::SYSTEM, format_args!("listening at {}", path.display()))?;
    rest_with(listener)
}

/// `listen-tcp PORT GO`
pub(crate) fn tcp(mut args: Args) -> Outcome {
    let (port, go) = (args.number("PORT")?, args.path("GO")?);
    args.finish()?;
    presence::record_pid("agent")?;
    presence::ready();
    await_file(&go)?;
    rest_with(bind(port)?)
}

/// `serve-http PORT GO`: 503 until the file is there, then 204.
pub(crate) fn http(mut args: Args) -> Outcome {
    let (port, go) = (args.number("PORT")?, args.path("GO")?);
    args.finish()?;
    presence::record_pid("agent")?;
    let listener = bind(port)?;
    presence::ready();
    let end = Instant::now() + MAX_LIFETIME;
    for stream in listener.incoming() {
        // The client may disconnect before the response.
        if let Ok(stream) = stream {
            answer(stream, &go).ok();
        }
        if Instant::now() > end {
            break;
        }
    }
    Ok(0)
}

fn answer(mut stream: TcpStream, go: &Path) -> std::io::Result<()> {
    let mut request = [0; 4096];
    let length = stream.read(&mut request)?;
    let sound = request[..length].starts_with(b"GET /health HTTP/1.1\r\n");
    let status = match (sound, go.exists()) {
        (false, _) => "400 Bad Request",
        (true, false) => "503 Service Unavailable",
        (true, true) => "204 No Content",
    };
    write!(stream, "HTTP/1.1 {status}\r\nConnection: close\r\n\r\n")
}

fn bind(port: u16) -> Result<TcpListener, Failure> {
    TcpListener::bind(("127.0.0.1", port))
        .or_fail(failure::SYSTEM, format_args!("listening at port {port}"))
}

fn await_file(path: &Path) -> Result<(), Failure> {
    let end = Instant::now() + MAX_LIFETIME;
    while !path.exists() {
        if Instant::now() > end {
            let message = format!("{} was not created in time", path.display());
            return Err(Failure { code: failure::TIME, message });
        }
        thread::sleep(PAUSE);
    }
    Ok(())
}

/// Keeps the listener open without accepting: the kernel completes connections by itself.
fn rest_with<T>(listener: T) -> Outcome {
    thread::sleep(MAX_LIFETIME);
    drop(listener);
    Ok(0)
}
