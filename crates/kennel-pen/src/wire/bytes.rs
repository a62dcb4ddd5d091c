//! Values as bytes: little-endian numbers, texts behind their length.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Puts values together.
#[derive(Debug, Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// What was put together.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.0
    }

    /// Adds a `u8`.
    pub fn u8(&mut self, value: u8) -> &mut Self {
        self.0.push(value);
        self
    }

    /// Adds a `bool`.
    pub fn bool(&mut self, value: bool) -> &mut Self {
        self.u8(value.into())
    }

    /// Adds a `u32`.
    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Adds a `i32`.
    pub fn i32(&mut self, value: i32) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Adds a `u64`.
    pub fn u64(&mut self, value: u64) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Adds a `bytes`.
    pub fn bytes(&mut self, value: &[u8]) -> &mut Self {
        self.u64(value.len() as u64);
        self.0.extend(value);
        self
    }

    /// Adds a `text`.
    pub fn text(&mut self, value: &str) -> &mut Self {
        self.bytes(value.as_bytes())
    }

    /// Adds a `path`.
    pub fn path(&mut self, value: &Path) -> &mut Self {
        self.bytes(value.as_os_str().as_bytes())
    }

    /// Adds a `duration`.
    pub fn duration(&mut self, value: Duration) -> &mut Self {
        self.u64(value.as_nanos().try_into().unwrap_or(u64::MAX))
    }

    /// Adds a `option`.
    pub fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) -> &mut Self {
        self.bool(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
        self
    }

    /// Adds a `list`.
    pub fn list<T>(&mut self, values: &[T], mut write: impl FnMut(&mut Self, &T)) -> &mut Self {
        self.u64(values.len() as u64);
        for value in values {
            write(self, value);
        }
        self
    }
}

/// What was read makes no sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a message between processes of Kennel was not understood")]
pub struct Garbled;

/// Takes values apart.
#[derive(Debug)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], Garbled> {
        let (head, tail) = self.0.split_at_checked(length).ok_or(Garbled)?;
        self.0 = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Garbled> {
        self.take(N)?.try_into().map_err(|_| Garbled)
    }

    /// Takes a `u8`.
    ///
    /// # Errors
    /// There is none.
    pub fn u8(&mut self) -> Result<u8, Garbled> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    /// Takes a `bool`.
    ///
    /// # Errors
    /// There is none.
    pub fn bool(&mut self) -> Result<bool, Garbled> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Garbled),
        }
    }

    /// Takes a `u32`.
    ///
    /// # Errors
    /// There is none.
    pub fn u32(&mut self) -> Result<u32, Garbled> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// Takes a `i32`.
    ///
    /// # Errors
    /// There is none.
    pub fn i32(&mut self) -> Result<i32, Garbled> {
        Ok(i32::from_le_bytes(self.array()?))
    }

    /// Takes a `u64`.
    ///
    /// # Errors
    /// There is none.
    pub fn u64(&mut self) -> Result<u64, Garbled> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Takes a `bytes`.
    ///
    /// # Errors
    /// There is none.
    pub fn bytes(&mut self) -> Result<&'a [u8], Garbled> {
        let length = usize::try_from(self.u64()?).map_err(|_| Garbled)?;
        self.take(length)
    }

    /// Takes a `text`.
    ///
    /// # Errors
    /// There is none.
    pub fn text(&mut self) -> Result<String, Garbled> {
        String::from_utf8(self.bytes()?.to_vec()).map_err(|_| Garbled)
    }

    /// Takes a `os_string`.
    ///
    /// # Errors
    /// There is none.
    pub fn os_string(&mut self) -> Result<OsString, Garbled> {
        Ok(OsString::from_vec(self.bytes()?.to_vec()))
    }

    /// Takes a `path`.
    ///
    /// # Errors
    /// There is none.
    pub fn path(&mut self) -> Result<PathBuf, Garbled> {
        self.os_string().map(PathBuf::from)
    }

    /// Takes a `duration`.
    ///
    /// # Errors
    /// There is none.
    pub fn duration(&mut self) -> Result<Duration, Garbled> {
        self.u64().map(Duration::from_nanos)
    }

    /// Takes a `option`.
    ///
    /// # Errors
    /// There is none.
    pub fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Garbled>,
    ) -> Result<Option<T>, Garbled> {
        if self.bool()? { read(self).map(Some) } else { Ok(None) }
    }

    /// Takes an `option` that an older speaker does not add at the end of what it says: none then.
    ///
    /// # Errors
    /// Something else is there.
    pub fn option_if_said<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Garbled>,
    ) -> Result<Option<T>, Garbled> {
        if self.0.is_empty() { Ok(None) } else { self.option(read) }
    }

    /// Takes a `list`.
    ///
    /// # Errors
    /// There is none.
    pub fn list<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<T, Garbled>,
    ) -> Result<Vec<T>, Garbled> {
        let length = self.u64()?;
        // Every item takes at least a byte, so a lie about the length ends soon.
        (0..length).map(|_| read(self)).collect()
    }

    /// Checks that nothing is left.
    ///
    /// # Errors
    /// Something is.
    pub fn end(&self) -> Result<(), Garbled> {
        if self.0.is_empty() { Ok(()) } else { Err(Garbled) }
    }
}
