//! Starts the machine, and follows its output until it is off.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use super::image::{Image, remove, tail};

/// How long a probe may take: with KVM the machine boots in a few seconds.
const PROBE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the machine may take to boot, emulated on a busy host; and how often it is started.
const BOOT_TIMEOUT: Duration = Duration::from_secs(300);
const STARTS: u32 = 3;
/// How long all tests may take, emulated.
const RUN_TIMEOUT: Duration = Duration::from_secs(25 * 60);
/// The interval of polling.
const POLL: Duration = Duration::from_millis(100);
/// The first line that the guest prints.
const UP: &str = "@@ up";

/// What executes the machine's instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Accelerator {
    /// The processor itself, through KVM.
    Kvm,
    /// Emulation, which works everywhere.
    Tcg,
}

impl Accelerator {
    /// The arguments for qemu.
    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Kvm => &["-accel", "kvm", "-cpu", "host"],
            Self::Tcg => &["-accel", "tcg,thread=multi", "-cpu", "max"],
        }
    }
}

impl fmt::Display for Accelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kvm => "KVM",
            Self::Tcg => "emulation",
        })
    }
}

/// Returns KVM if the machine boots with it: the device alone is not enough if the host is a
/// virtual machine itself. The answer is cached until the host reboots.
pub(super) fn accelerator(folder: &Path, image: &Image) -> anyhow::Result<Accelerator> {
    let device = OpenOptions::new().read(true).write(true).open("/dev/kvm");
    if let Err(error) = device {
        println!("=== no KVM: /dev/kvm: {error}");
        return Ok(Accelerator::Tcg);
    }
    let this_boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").context("boot_id")?;
    let known = folder.join("accelerator");
    let text = |answer: Accelerator| format!("{}: {answer}\n", this_boot.trim());
    let before = fs::read_to_string(&known).unwrap_or_default();
    for answer in [Accelerator::Kvm, Accelerator::Tcg] {
        if before == text(answer) {
            return Ok(answer);
        }
    }
    let answer = if boots(folder, image)? { Accelerator::Kvm } else { Accelerator::Tcg };
    println!("=== probed the accelerator: {answer}");
    fs::write(&known, text(answer)).with_context(|| format!("can't write {}", known.display()))?;
    Ok(answer)
}

/// Returns whether the machine boots with KVM. Without a job the guest prints its first line and
/// shuts down.
fn boots(folder: &Path, image: &Image) -> anyhow::Result<bool> {
    let mut machine = VirtualMachine::start(folder, image, Accelerator::Kvm, None)?;
    let deadline = Instant::now() + PROBE_TIMEOUT;
    while Instant::now() < deadline {
        machine.follow(|_| {})?;
        if machine.output.lines().any(|line| line.trim_end() == UP) {
            return Ok(true);
        }
        if machine.ended()?.is_some() {
            return Ok(false);
        }
        thread::sleep(POLL);
    }
    Ok(false)
}

/// The outcome of a start.
#[must_use]
enum BootOutcome {
    /// The machine ran to its end; its output.
    Ended(String),
    /// The machine printed nothing; the last lines of the console.
    Silent(String),
}

/// Runs a job to its end; returns its output. On a busy host an emulated machine may hang at boot
/// because it does not find its clock: then it is started again.
pub(super) fn boot(
    folder: &Path,
    image: &Image,
    accelerator: Accelerator,
    job: &Path,
) -> anyhow::Result<String> {
    let mut why = String::new();
    for _ in 0..STARTS {
        match start(folder, image, accelerator, job)? {
            BootOutcome::Ended(output) => return Ok(output),
            BootOutcome::Silent(lines) => {
                println!("=== not booted after {} s", BOOT_TIMEOUT.as_secs());
                why = lines;
            }
        }
    }
    bail!("the machine did not boot, {STARTS} times\n{why}")
}

fn start(
    folder: &Path,
    image: &Image,
    accelerator: Accelerator,
    job: &Path,
) -> anyhow::Result<BootOutcome> {
    let mut machine = VirtualMachine::start(folder, image, accelerator, Some(job))?;
    let started = Instant::now();
    loop {
        let ended = machine.ended()?;
        machine.follow(print_progress)?;
        match ended {
            Some(status) if status.success() => {
                return Ok(BootOutcome::Ended(machine.take_output()));
            }
            Some(status) => bail!("qemu: {status}\n{}", machine.last_lines()),
            None if machine.output.is_empty() && started.elapsed() >= BOOT_TIMEOUT => {
                return Ok(BootOutcome::Silent(machine.last_lines()));
            }
            None if started.elapsed() >= RUN_TIMEOUT => {
                let minutes = RUN_TIMEOUT.as_secs() / 60;
                bail!("not done after {minutes} minutes\n{}", machine.last_lines());
            }
            None => thread::sleep(POLL),
        }
    }
}

/// Prints the progress.
fn print_progress(line: &str) {
    if let Some(run) = line.strip_prefix("@@ run ") {
        println!("  {run}");
    } else if let Some(left) = line.strip_prefix("@@ left ") {
        println!("    left behind: {left}");
    } else if let Some(ended) =
        line.strip_prefix("@@ ended ").filter(|code| !code.starts_with("0 "))
    {
        println!("    FAILED: {ended}");
    } else if line.starts_with("test ") && line.ends_with(" ... FAILED") {
        println!("    {line}");
    }
}

/// A running machine. Dropping it switches it off.
struct VirtualMachine {
    qemu: Child,
    console: PathBuf,
    results: File,
    /// The complete lines of the output, and the incomplete last one.
    output: String,
    partial_line: Vec<u8>,
}

impl VirtualMachine {
    fn start(
        folder: &Path,
        image: &Image,
        accelerator: Accelerator,
        job: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let (console, results) = (folder.join("console.log"), folder.join("results.log"));
        remove(&console)?;
        remove(&results)?;
        File::create(&results).with_context(|| format!("can't make {}", results.display()))?;
        // qemu is killed if this program is.
        let mut command = Command::new("setpriv");
        command.args([
            "--pdeathsig",
            "KILL",
            "qemu-system-x86_64",
            "-nodefaults",
            "-no-user-config",
        ]);
        command.args(accelerator.arguments());
        command.args(["-smp", "2", "-m", "2048", "-display", "none", "-no-reboot"]);
        command.arg("-kernel").arg(&image.kernel).arg("-initrd").arg(&image.initrd);
        command.args(["-append", "root=/dev/vda rw console=ttyS0 panic=-1 no_timer_check"]);
        command.args(["-serial", &format!("file:{}", plain(&console)?)]);
        command.args(["-serial", &format!("file:{}", plain(&results)?)]);
        for disk in [Some(image.disk.as_path()), job].into_iter().flatten() {
            let disk = plain(disk)?;
            command.args(["-drive", &format!("file={disk},format=raw,if=virtio,snapshot=on")]);
        }
        command.stdin(Stdio::null());
        let results =
            File::open(&results).with_context(|| format!("can't open {}", results.display()))?;
        let qemu = command.spawn().context("can't start qemu")?;
        Ok(Self { qemu, console, results, output: String::new(), partial_line: Vec::new() })
    }

    fn ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        self.qemu.try_wait().context("can't wait for qemu")
    }

    /// Reads the output since the last call.
    fn follow(&mut self, mut on_line: impl FnMut(&str)) -> anyhow::Result<()> {
        // qemu truncates the file when it opens it.
        let length = self.results.metadata().context("can't read the results")?.len();
        if self.results.stream_position().context("can't read the results")? > length {
            self.results.seek(SeekFrom::Start(0)).context("can't read the results")?;
        }
        self.results.read_to_end(&mut self.partial_line).context("can't read the results")?;
        let Some(end) = self.partial_line.iter().rposition(|byte| *byte == b'\n') else {
            return Ok(());
        };
        let rest = self.partial_line.split_off(end + 1);
        let lines = std::mem::replace(&mut self.partial_line, rest);
        let lines = String::from_utf8_lossy(&lines);
        lines.lines().for_each(&mut on_line);
        self.output.push_str(&lines);
        Ok(())
    }

    fn take_output(&mut self) -> String {
        std::mem::take(&mut self.output)
    }

    /// Returns the last lines of console and tests, for an error.
    fn last_lines(&self) -> String {
        let console = fs::read(&self.console).unwrap_or_default();
        let console = tail(&String::from_utf8_lossy(&console), 15);
        let output = tail(&self.output, 15);
        format!("--- the console's last lines\n{console}\n--- the tests' last lines\n{output}")
    }
}

impl Drop for VirtualMachine {
    fn drop(&mut self) {
        // Both fail if it has ended already, which is fine.
        self.qemu.kill().ok();
        self.qemu.wait().ok();
    }
}

/// Returns a path that qemu accepts as part of an option.
fn plain(path: &Path) -> anyhow::Result<&str> {
    let text = path.to_str().context("a path that is not UTF-8")?;
    if text.contains(',') {
        bail!("qemu does not accept a path with a comma: {text}");
    }
    Ok(text)
}
