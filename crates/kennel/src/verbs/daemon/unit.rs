//! `kennel daemon unit`: prints a systemd user unit.

use crate::command_prelude::*;

pub(super) fn unit(home: &HomeDir) -> Result<u8, CommandError> {
    let program = super::own_program()?;
    let config = home.config.named_by_flag().map(|path| path.display().to_string());
    print(&text(&program, &home.folder.to_string_lossy(), config.as_deref()))?;
    Ok(0)
}

/// Formats the unit. With `KillMode=process` and an `ExecStop`, systemd ends no process before
/// Kennel has stopped it properly. `Delegate` gives Kennel its own cgroup for pens.
fn text(program: &str, home: &str, config: Option<&str>) -> String {
    let config = config.map(|config| format!(" --config {}", quote(config))).unwrap_or_default();
    let (program, home) = (quote(program), quote(home));
    format!(
        "\
# Save this as ~/.config/systemd/user/kennel.service, then:
#   kennel daemon stop
#   systemctl --user daemon-reload
#   systemctl --user enable --now kennel.service
# To keep it running without a login session:  loginctl enable-linger

[Unit]
Description=Kennel: runs coding agents and owns every process they start

[Service]
Type=exec
ExecStart={program} --home {home}{config} daemon run
ExecStop={program} --home {home} daemon stop
Delegate=yes
KillMode=process
Restart=on-failure
RestartSec=1
TimeoutStopSec=90

[Install]
WantedBy=default.target
"
    )
}

/// Quotes an argument for systemd.
fn quote(word: &str) -> String {
    let escaped =
        word.replace('\\', r"\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$");
    if word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./%$".contains(c)) {
        escaped
    } else {
        format!("\"{escaped}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_contains_program_and_home() {
        let named = text("/usr/bin/kennel", "/h", Some("/a b.toml"));
        let start = "\nExecStart=/usr/bin/kennel --home /h --config \"/a b.toml\" daemon run\n";
        assert!(named.contains(start), "{named}");
        let text = text("/usr/bin/kennel", "/home/a b/50%", None);
        assert!(
            text.contains("\nExecStart=/usr/bin/kennel --home \"/home/a b/50%%\" daemon run\n")
        );
        for line in ["Delegate=yes", "KillMode=process", "Type=exec", "WantedBy=default.target"] {
            assert!(text.lines().any(|other| other == line), "{line}");
        }
        assert!(text.lines().all(|line| line.len() <= 80));
    }
}
