//! What the machine consists of.

use std::fs;

use anyhow::{Context, ensure};

/// Packages besides the essential ones.
const PACKAGES: &[&str] = &[
    "systemd",
    "systemd-sysv",
    "dbus",
    // Gives the manager of a user a bus.
    "dbus-user-session",
    "libpam-systemd",
    // A kernel with drivers for virtual machines only.
    "linux-image-cloud-amd64",
    "initramfs-tools",
    // Used by the tests.
    "procps",
    "git",
];

const PREPARE: &str = include_str!("prepare.sh");
const FINISH: &str = include_str!("finish.sh");

/// A recipe. When it changes, the image is created again.
pub(super) struct Recipe {
    /// The code name of the Debian release.
    suite: String,
}

impl Recipe {
    /// Returns the recipe for the release of the host.
    pub(super) fn for_host() -> anyhow::Result<Self> {
        let path = "/etc/os-release";
        let text = fs::read_to_string(path).with_context(|| format!("can't read {path}"))?;
        ensure!(
            field(&text, "ID") == Some("debian"),
            "`cargo xtask vm` needs a Debian host with apt; this is {}",
            field(&text, "PRETTY_NAME").unwrap_or("an unknown system")
        );
        let suite =
            field(&text, "VERSION_CODENAME").context("no VERSION_CODENAME in os-release")?;
        Ok(Self { suite: suite.to_owned() })
    }

    pub(super) fn suite(&self) -> &str {
        &self.suite
    }

    /// The arguments for `mmdebstrap`, except for sources and target.
    pub(super) fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![
            "--variant=apt".to_owned(),
            format!("--include={}", PACKAGES.join(",")),
            format!("--essential-hook={PREPARE}"),
            format!("--customize-hook={FINISH}"),
        ];
        let excluded = ["doc", "man", "locale", "info"];
        arguments
            .extend(excluded.map(|name| format!("--dpkgopt=path-exclude=/usr/share/{name}/*")));
        arguments
    }

    /// Everything that determines the image, as one text.
    pub(super) fn text(&self) -> String {
        format!("{}\n{}\n", self.suite, self.arguments().join("\n"))
    }
}

/// Returns a field of `os-release`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?;
    Some(value.trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_field_by_its_whole_name() {
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
