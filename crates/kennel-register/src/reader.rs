//! Read-only connections, pooled for the next query.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kennel_types::EventView;
use rusqlite::{Connection, OpenFlags};

use crate::database::BUSY_TIMEOUT;
use crate::error::ReadError;
use crate::record::{EventPage, EventQuery};
use crate::rows;

/// More connections are opened under load, but not kept.
const MAX_IDLE: usize = 4;

/// The pool of one register.
#[derive(Debug)]
pub(crate) struct ReadConnections {
    path: PathBuf,
    idle: Mutex<IdleConnections>,
}

#[derive(Debug, Default)]
struct IdleConnections {
    connections: Vec<Connection>,
    /// Incremented to discard all connections that exist now.
    generation: u64,
}

impl ReadConnections {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, idle: Mutex::default() }
    }

    pub(crate) fn events(&self, query: &EventQuery) -> Result<Vec<EventView>, ReadError> {
        self.read(|connection| rows::events(connection, query))
    }

    pub(crate) fn page(&self, query: &EventQuery) -> Result<EventPage, ReadError> {
        self.read(|connection| {
            // One transaction, so that both queries see the same state; it ends when dropped.
            let snapshot = connection.unchecked_transaction()?;
            let oldest = rows::oldest_event(&snapshot)?;
            Ok(EventPage { events: rows::events(&snapshot, query)?, oldest })
        })
    }

    fn read<T>(
        &self,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, ReadError> {
        let (connection, generation) = {
            let mut idle = self.idle();
            (idle.connections.pop(), idle.generation)
        };
        let failed = |error: rusqlite::Error| ReadError::new(&self.path, &error);
        let connection = connection.map_or_else(|| self.connect(), Ok).map_err(failed)?;
        let result = query(&connection).map_err(failed)?;
        let mut idle = self.idle();
        if idle.generation == generation && idle.connections.len() < MAX_IDLE {
            idle.connections.push(connection);
        }
        Ok(result)
    }

    /// Closes every connection: idle ones now, the others after their query.
    pub(crate) fn clear(&self) {
        let mut idle = self.idle();
        idle.generation += 1;
        idle.connections.clear();
    }

    fn connect(&self) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        // In KiB. Small, because events are read sequentially and once.
        connection.pragma_update(None, "cache_size", -256)?;
        Ok(connection)
    }

    fn idle(&self) -> MutexGuard<'_, IdleConnections> {
        // The contents are consistent at any time, also after a panic.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
