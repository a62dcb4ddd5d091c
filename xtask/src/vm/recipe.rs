//! What the machine is made of.

use std::fs;

use anyhow::{Context, ensure};

/// Packages besides the essential ones.
const PACKAGES: &[&str] = &[
    "systemd",
    "systemd-sysv",
    "dbus",
    // With it a user's manager has a bus to be asked over.
    "dbus-user-session",
    "libpam-systemd",
    // A kernel for virtual machines: it has nothing but their devices.
    "linux-image-cloud-amd64",
    "initramfs-tools",
    // What the tests use.
    "procps",
    "git",
];

const PREPARE: &str = include_str!("prepare.sh");
const FINISH: &str = include_str!("finish.sh");

/// A recipe. An image made by another one is made anew.
pub(super) struct Recipe {
    /// The release of Debian, by its name.
    suite: String,
}

impl Recipe {
    /// For this machine.
    pub(super) fn for_here() -> anyhow::Result<Self> {
        let path = "/etc/os-release";
        let text = fs::read_to_string(path).with_context(|| format!("can't read {path}"))?;
        ensure!(
            field(&text, "ID") == Some("debian"),
            "the machine is made from Debian's packages by apt: run this on Debian, not on {}",
            field(&text, "PRETTY_NAME").unwrap_or("an unknown system")
        );
        let suite =
            field(&text, "VERSION_CODENAME").context("no VERSION_CODENAME in os-release")?;
        Ok(Self { suite: suite.to_owned() })
    }

    pub(super) fn suite(&self) -> &str {
        &self.suite
    }

    /// What `mmdebstrap` is told, but for the sources and where to put it.
    pub(super) fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![
            "--variant=apt".to_owned(),
            format!("--include={}", PACKAGES.join(",")),
            format!("--essential-hook={PREPARE}"),
            format!("--customize-hook={FINISH}"),
        ];
        let unread = ["doc", "man", "locale", "info"];
        arguments.extend(unread.map(|name| format!("--dpkgopt=path-exclude=/usr/share/{name}/*")));
        arguments
    }

    /// All that the image depends on, in one text.
    pub(super) fn text(&self) -> String {
        format!("{}\n{}\n", self.suite, self.arguments().join("\n"))
    }
}

/// A field of `os-release`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?;
    Some(value.trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let text = "VERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\nID=debian\n";
        assert_eq!(field(text, "ID"), Some("debian"));
        assert_eq!(field(text, "VERSION_ID"), Some("12"));
        assert_eq!(field(text, "VERSION"), None);
    }

    #[test]
    fn another_release_is_another_recipe() {
        let text = |suite: &str| Recipe { suite: suite.to_owned() }.text();
        assert_ne!(text("bookworm"), text("trixie"));
    }
}
