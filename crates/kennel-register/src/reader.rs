//! Connections that only read, kept for the next one who asks.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kennel_core::EventView;
use rusqlite::{Connection, OpenFlags};

use crate::database::BUSY;
use crate::entry::{EventPage, EventQuery};
use crate::error::ReadError;
use crate::rows;

/// More of them at once are made when needed, and not kept.
const KEPT: usize = 4;

/// The readers of one register.
#[derive(Debug)]
pub(crate) struct Readers {
    path: PathBuf,
    idle: Mutex<Idle>,
}

#[derive(Debug, Default)]
struct Idle {
    connections: Vec<Connection>,
    /// Grows when all that exist have to go.
    generation: u64,
}

impl Readers {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, idle: Mutex::default() }
    }

    pub(crate) fn events(&self, query: &EventQuery) -> Result<Vec<EventView>, ReadError> {
        self.read(|connection| rows::events(connection, query))
    }

    pub(crate) fn page(&self, query: &EventQuery) -> Result<EventPage, ReadError> {
        self.read(|connection| {
            // Both as of the same moment; it ends when it is dropped.
            let moment = connection.unchecked_transaction()?;
            let oldest = rows::oldest_event(&moment)?;
            Ok(EventPage { events: rows::events(&moment, query)?, oldest })
        })
    }

    fn read<T>(
        &self,
        look: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, ReadError> {
        let (connection, generation) = {
            let mut idle = self.idle();
            (idle.connections.pop(), idle.generation)
        };
        let failed = |error: rusqlite::Error| ReadError::new(&self.path, &error);
        let connection = connection.map_or_else(|| self.connect(), Ok).map_err(failed)?;
        let seen = look(&connection).map_err(failed)?;
        let mut idle = self.idle();
        if idle.generation == generation && idle.connections.len() < KEPT {
            idle.connections.push(connection);
        }
        Ok(seen)
    }

    /// Lets go of every connection: of idle ones now, of others when they are done.
    pub(crate) fn clear(&self) {
        let mut idle = self.idle();
        idle.generation += 1;
        idle.connections.clear();
    }

    fn connect(&self) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        connection.busy_timeout(BUSY)?;
        // In KiB: events are read once, and from front to back.
        connection.pragma_update(None, "cache_size", -256)?;
        Ok(connection)
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        // What is inside is whole at any time.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
