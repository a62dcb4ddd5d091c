//! The command line of this process, as other processes see it.

use std::fs;
use std::io;

/// The memory from which the kernel reads the command line, at the same address in forks.
#[derive(Debug, Clone, Copy)]
pub struct TitleArea {
    start: usize,
    length: usize,
}

impl TitleArea {
    /// Finds the memory.
    pub fn find() -> io::Result<Self> {
        const ARGUMENTS_START: usize = 45; // counted from the state letter
        let stat = fs::read_to_string("/proc/self/stat")?;
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
        let mut fields = fields.split_whitespace().skip(ARGUMENTS_START);
        let mut address = || fields.next().and_then(|field| field.parse::<usize>().ok());
        match (address(), address()) {
            (Some(start), Some(end)) if start != 0 && end > start => {
                Ok(Self { start, length: end - start })
            }
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// Overwrites the command line, as far as there is space.
    pub fn write(self, title: &str) -> io::Result<()> {
        let mut text = vec![0_u8; self.length];
        let length = title.len().min(self.length.saturating_sub(1));
        text[..length].copy_from_slice(&title.as_bytes()[..length]);
        let local = libc::iovec { iov_base: text.as_mut_ptr().cast(), iov_len: text.len() };
        let remote = libc::iovec {
            iov_base: std::ptr::without_provenance_mut(self.start),
            iov_len: self.length,
        };
        let own = rustix::process::getpid().as_raw_pid();
        // SAFETY: it reads `text`, and writes to the arguments on the stack, to which Rust has no
        // reference and where any bytes are valid. The kernel checks the addresses.
        let written =
            unsafe { libc::process_vm_writev(own, &raw const local, 1, &raw const remote, 1, 0) };
        if written < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_visible_and_never_longer_than_its_space() {
        let area = TitleArea::find().unwrap();
        let before = fs::read("/proc/self/cmdline").unwrap();
        area.write(&"x".repeat(before.len() * 2)).unwrap();
        let long = fs::read("/proc/self/cmdline").unwrap();
        assert!(long.starts_with(b"xx") && long.len() <= before.len(), "{long:?}");
        area.write("short").unwrap();
        let short = fs::read("/proc/self/cmdline").unwrap();
        assert!(short.starts_with(b"short\0"), "{short:?}");
    }
}
