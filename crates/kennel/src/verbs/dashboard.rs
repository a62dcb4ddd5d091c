//! `kennel dashboard`: opens the dashboard in a browser.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use kennel_types::api::{LinkRequest, LinkView, Scope};

use crate::command_prelude::*;

/// The local page that redirects a browser to the link.
const PAGE: &str = "dashboard.html";
const OPENER: &str = "xdg-open";

#[derive(Debug, Args)]
#[command(after_help = exit_code::SHORT_HELP)]
pub(crate) struct DashboardArgs {
    /// Only print the sign-in link
    #[arg(long)]
    no_open: bool,
    /// Sign the browser in for read-only access
    #[arg(long)]
    read_only: bool,
}

/// Creates a sign-in link, prints it, and opens it if there is a display.
pub(crate) fn dashboard(home: &HomeDir, args: &DashboardArgs) -> Result<u8, CommandError> {
    let daemon = DaemonClient::connect(home, StartDaemon::IfNeeded)?;
    let scope = if args.read_only { Scope::ReadOnly } else { Scope::Full };
    let link: LinkView = daemon.post("/v1/access/links", &LinkRequest { scope })?;
    print(&format!("{}\n", link.url))?;
    let valid = format!("the link works once, within {} minutes", link.valid_s / 60);
    let set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if args.no_open || !["DISPLAY", "WAYLAND_DISPLAY"].iter().any(set) {
        print_message(&valid);
        return Ok(0);
    }
    match open(home, &link.url) {
        Ok(()) => print_message(&format!("opened in the browser; {valid}")),
        Err(error) => print_message(&format!("can't open a browser ({error}); {valid}")),
    }
    Ok(0)
}

/// Opens the link through a private page: the link is secret, and other users see command lines.
fn open(home: &HomeDir, url: &str) -> io::Result<()> {
    let path = write_page(home, url)?;
    let page = format!("file://{}", escape(&path.to_string_lossy()).replace("%2F", "/"));
    let mut opener = Command::new(OPENER);
    opener.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Some browsers don't exit until they are closed, so this doesn't wait.
    opener.spawn().map(drop)
}

fn write_page(home: &HomeDir, url: &str) -> io::Result<PathBuf> {
    let path = home.path(PAGE);
    let draft = home.path(&format!("{PAGE}.{}", std::process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    // A link contains no characters that are special in HTML.
    let page = format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta http-equiv=\"refresh\" content=\"0; url={url}\">\n<title>Kennel</title>\n"
    );
    let written = file.write_all(page.as_bytes()).and_then(|()| fs::rename(&draft, &path));
    if written.is_err() {
        // A draft that stays behind does no harm.
        fs::remove_file(&draft).ok();
    }
    written.map(|()| path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn the_page_is_private_and_replaces_the_previous_one() {
        let folder = tempfile::tempdir().unwrap();
        let home = HomeDir::at(folder.path().to_owned()).unwrap();
        for url in ["http://127.0.0.1:1/login?once=a", "http://127.0.0.1:1/login?once=b"] {
            let path = write_page(&home, url).unwrap();
            assert!(fs::read_to_string(&path).unwrap().contains(url));
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "the id and the page");
    }
}
