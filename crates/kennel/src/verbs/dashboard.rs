//! `kennel dashboard`: the daemon's page, in a browser.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use clap::Args;
use kennel_types::api::{LinkRequest, LinkView, Scope};

use crate::command_error::{CommandError, say};
use crate::connect::{DaemonClient, StartDaemon, escape};
use crate::exit_code;
use crate::home::Home;
use crate::print::print;

/// The page that leads a browser to the link.
const PAGE: &str = "dashboard.html";
const OPENER: &str = "xdg-open";

/// The flags of `kennel dashboard`.
#[derive(Debug, Args)]
#[command(after_help = exit_code::SHORT_HELP)]
pub(crate) struct DashboardArgs {
    /// Only print the link
    #[arg(long)]
    no_open: bool,
    /// Let the browser look, and change nothing
    #[arg(long)]
    read_only: bool,
}

/// Makes a link, prints it, and opens it where there is a display.
pub(crate) fn dashboard(home: &Home, args: &DashboardArgs) -> Result<u8, CommandError> {
    let daemon = DaemonClient::connect(home, StartDaemon::IfNeeded)?;
    let scope = if args.read_only { Scope::ReadOnly } else { Scope::Full };
    let link: LinkView = daemon.post("/v1/access/links", &LinkRequest { scope })?;
    print(&format!("{}\n", link.url))?;
    let valid = format!("good once, and for {} s", link.valid_s);
    if args.no_open || !has_display() {
        say(&valid);
        return Ok(0);
    }
    match open(home, &link.url) {
        Ok(()) => say(&format!("opened in a browser; the link is {valid}")),
        Err(error) => say(&format!("no browser could be opened ({error}); the link is {valid}")),
    }
    Ok(0)
}

fn has_display() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    set("DISPLAY") || set("WAYLAND_DISPLAY")
}

/// By a page that only we can read: everybody sees what a program is started with, and the link is a secret.
fn open(home: &Home, url: &str) -> io::Result<()> {
    let path = write_page(home, url)?;
    let page = format!("file://{}", escape(&path.to_string_lossy()).replace("%2F", "/"));
    let mut opener = Command::new(OPENER);
    opener.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // A browser may take as long as it is open.
    opener.spawn().map(drop)
}

fn write_page(home: &Home, url: &str) -> io::Result<PathBuf> {
    let path = home.path(PAGE);
    let draft = home.path(&format!("{PAGE}.{}", std::process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    // A link has nothing in it that means anything to HTML.
    let page = format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta http-equiv=\"refresh\" content=\"0; url={url}\">\n<title>Kennel</title>\n"
    );
    let written = file.write_all(page.as_bytes()).and_then(|()| fs::rename(&draft, &path));
    if written.is_err() {
        // What is left of it is in nobody's way.
        fs::remove_file(&draft).ok();
    }
    written.map(|()| path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn the_page_with_the_link_is_ours_alone_and_replaces_the_former() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().to_owned()).unwrap();
        for url in ["http://127.0.0.1:1/login?once=a", "http://127.0.0.1:1/login?once=b"] {
            let path = write_page(&home, url).unwrap();
            assert!(fs::read_to_string(&path).unwrap().contains(url));
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "the id and the page");
    }
}
