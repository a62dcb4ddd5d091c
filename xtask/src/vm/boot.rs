//! Starting the machine, and following what it says until it is off.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use super::image::{Image, remove, tail};

/// How long a probe may take: a machine that KVM carries is up in a few seconds.
const PROBE: Duration = Duration::from_secs(30);
/// How long a machine with a job may take to come up, emulated on a busy machine; and how often it is started.
const COMING_UP: Duration = Duration::from_secs(300);
const STARTS: u32 = 3;
/// How long all the tests may take, emulated.
const LONGEST: Duration = Duration::from_secs(25 * 60);
/// How often we look.
const POLL: Duration = Duration::from_millis(100);
/// What the guest says first.
const UP: &str = "@@ up";

/// By what the machine's instructions are carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Accelerator {
    /// The processor itself.
    Kvm,
    /// Plain emulation, which works everywhere.
    Tcg,
}

impl Accelerator {
    /// What qemu is told.
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

/// KVM if a machine comes up by it: that there is such a device says little where this is a virtual machine itself.
/// The answer holds until this machine is started anew.
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
    let answer = if comes_up(folder, image)? { Accelerator::Kvm } else { Accelerator::Tcg };
    println!("=== a probe: {answer} it is");
    fs::write(&known, text(answer)).with_context(|| format!("can't write {}", known.display()))?;
    Ok(answer)
}

/// Whether the machine comes up by KVM. Without a job it says so, and goes.
fn comes_up(folder: &Path, image: &Image) -> anyhow::Result<bool> {
    let mut machine = Machine::start(folder, image, Accelerator::Kvm, None)?;
    let deadline = Instant::now() + PROBE;
    while Instant::now() < deadline {
        machine.follow(|_| {})?;
        if machine.said.lines().any(|line| line.trim_end() == UP) {
            return Ok(true);
        }
        if machine.ended()?.is_some() {
            return Ok(false);
        }
        thread::sleep(POLL);
    }
    Ok(false)
}

/// What came of a start.
#[must_use]
enum Started {
    /// It ran to its end: all that was said.
    Ended(String),
    /// Nothing was heard from it; the console's last lines.
    Silent(String),
}

/// Runs a job to its end; gives all that was said. An emulated machine on a busy one may fail to find its clock when it
/// starts, and hang: then it is started again.
pub(super) fn boot(
    folder: &Path,
    image: &Image,
    accelerator: Accelerator,
    job: &Path,
) -> anyhow::Result<String> {
    let mut why = String::new();
    for _ in 0..STARTS {
        match start(folder, image, accelerator, job)? {
            Started::Ended(said) => return Ok(said),
            Started::Silent(words) => {
                println!("=== not up in {} s", COMING_UP.as_secs());
                why = words;
            }
        }
    }
    bail!("the machine did not come up, {STARTS} times\n{why}")
}

fn start(
    folder: &Path,
    image: &Image,
    accelerator: Accelerator,
    job: &Path,
) -> anyhow::Result<Started> {
    let mut machine = Machine::start(folder, image, accelerator, Some(job))?;
    let begun = Instant::now();
    loop {
        let ended = machine.ended()?;
        machine.follow(tell)?;
        match ended {
            Some(status) if status.success() => return Ok(Started::Ended(machine.take_said())),
            Some(status) => bail!("qemu: {status}\n{}", machine.last_words()),
            None if machine.said.is_empty() && begun.elapsed() >= COMING_UP => {
                return Ok(Started::Silent(machine.last_words()));
            }
            None if begun.elapsed() >= LONGEST => {
                let minutes = LONGEST.as_secs() / 60;
                bail!("not done in {minutes} minutes\n{}", machine.last_words());
            }
            None => thread::sleep(POLL),
        }
    }
}

/// Shows how far it is.
fn tell(line: &str) {
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

/// A machine that runs; switched off when dropped.
struct Machine {
    qemu: Child,
    console: PathBuf,
    results: File,
    /// All that was said in whole lines, and the line that has begun.
    said: String,
    begun: Vec<u8>,
}

impl Machine {
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
        // Killed as we are, it goes with us.
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
        let qemu = command.spawn().context("qemu can't be started")?;
        Ok(Self { qemu, console, results, said: String::new(), begun: Vec::new() })
    }

    fn ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        self.qemu.try_wait().context("qemu can't be waited for")
    }

    /// Takes in what was said since.
    fn follow(&mut self, mut tell: impl FnMut(&str)) -> anyhow::Result<()> {
        // qemu empties the file when it opens it.
        let length = self.results.metadata().context("the results")?.len();
        if self.results.stream_position().context("the results")? > length {
            self.results.seek(SeekFrom::Start(0)).context("the results")?;
        }
        self.results.read_to_end(&mut self.begun).context("the results can't be read")?;
        let Some(end) = self.begun.iter().rposition(|byte| *byte == b'\n') else { return Ok(()) };
        let rest = self.begun.split_off(end + 1);
        let lines = std::mem::replace(&mut self.begun, rest);
        let lines = String::from_utf8_lossy(&lines);
        lines.lines().for_each(&mut tell);
        self.said.push_str(&lines);
        Ok(())
    }

    fn take_said(&mut self) -> String {
        std::mem::take(&mut self.said)
    }

    /// What to show when it went wrong.
    fn last_words(&self) -> String {
        let console = fs::read(&self.console).unwrap_or_default();
        let console = tail(&String::from_utf8_lossy(&console), 15);
        let said = tail(&self.said, 15);
        format!("--- the console's last lines\n{console}\n--- the tests' last lines\n{said}")
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // Both are fine if it has ended, and there is nothing to do about anything else.
        self.qemu.kill().ok();
        self.qemu.wait().ok();
    }
}

/// A path that qemu takes for nothing else.
fn plain(path: &Path) -> anyhow::Result<&str> {
    let text = path.to_str().context("a path that is no text")?;
    if text.contains(',') {
        bail!("qemu does not take a path with a comma: {text}");
    }
    Ok(text)
}
