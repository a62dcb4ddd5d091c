//! Every SQL statement on the register's tables.

use kennel_core::{DesiredState, Member};
use kennel_types::{EventView, Phase, SessionId, StartedBy, timestamp::rfc3339};
use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use serde::de::DeserializeOwned;

use crate::record::{EventQuery, NewEvent, PlanRecord, SessionRecord, SessionTimes};

/// A row can't be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error("can't parse {what} {id}: {why}")]
    Json { what: &'static str, id: String, why: String },
}

/// Executes a statement.
fn execute(connection: &Connection, sql: &str, params: impl Params) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute(params).map(drop)
}

pub(crate) fn save(connection: &Connection, record: &SessionRecord) -> rusqlite::Result<()> {
    let SessionRecord { session, times } = record;
    execute(
        connection,
        "INSERT INTO sessions
             (id, name, phase, wanted, created_ms, started_ms, ended_ms, session, started_by)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
         ON CONFLICT (id) DO UPDATE SET
             name = excluded.name, phase = excluded.phase, wanted = excluded.wanted,
             created_ms = excluded.created_ms, started_ms = excluded.started_ms,
             ended_ms = excluded.ended_ms, session = excluded.session,
             started_by = excluded.started_by",
        params![
            session.id.as_str(),
            session.spec.name,
            session.phase.name(),
            wanted_text(session.wanted),
            signed(times.created_ms),
            times.started_ms.map(signed),
            times.ended_ms.map(signed),
            to_json(session)?,
            started_by_text(session.started_by),
        ],
    )
}

/// Removes a session's row, if it exists. Its events stay.
pub(crate) fn remove(connection: &Connection, id: &SessionId) -> rusqlite::Result<()> {
    execute(connection, "DELETE FROM sessions WHERE id = ?1", [id.as_str()])
}

pub(crate) fn save_member(connection: &Connection, member: &Member) -> rusqlite::Result<()> {
    let sql = "INSERT INTO members (name, member) VALUES (?1, ?2)
               ON CONFLICT (name) DO UPDATE SET member = excluded.member";
    execute(connection, sql, params![member.name, to_json(member)?])
}

pub(crate) fn remove_member(connection: &Connection, name: &str) -> rusqlite::Result<()> {
    execute(connection, "DELETE FROM members WHERE name = ?1", [name])
}

pub(crate) fn save_plan(connection: &Connection, plan: &PlanRecord) -> rusqlite::Result<()> {
    let sql = "INSERT INTO plans (id, plan) VALUES (?1, ?2)
               ON CONFLICT (id) DO UPDATE SET plan = excluded.plan";
    execute(connection, sql, params![plan.id.as_str(), to_json(plan)?])
}

pub(crate) fn remove_plan(connection: &Connection, id: &SessionId) -> rusqlite::Result<()> {
    execute(connection, "DELETE FROM plans WHERE id = ?1", [id.as_str()])
}

/// Loads all plans, oldest first.
pub(crate) fn plans(connection: &Connection) -> Result<Vec<PlanRecord>, LoadError> {
    load(connection, "SELECT id, plan FROM plans ORDER BY id", |row| from_json("plan", row))
}

pub(crate) fn members(connection: &Connection) -> Result<Vec<Member>, LoadError> {
    let sql = "SELECT name, member FROM members ORDER BY name";
    load(connection, sql, |row| from_json("member", row))
}

fn load<T>(
    connection: &Connection,
    sql: &str,
    parse: impl Fn(&Row<'_>) -> Result<T, LoadError>,
) -> Result<Vec<T>, LoadError> {
    connection.prepare(sql)?.query_and_then([], parse)?.collect()
}

/// Parses a row of an id and a JSON text.
fn from_json<T: DeserializeOwned>(what: &'static str, row: &Row<'_>) -> Result<T, LoadError> {
    let (id, json): (String, String) = (row.get(0)?, row.get(1)?);
    let parsed = serde_json::from_str(&json);
    parsed.map_err(|error| LoadError::Json { what, id, why: error.to_string() })
}

/// Adds an event, and returns its sequence number.
pub(crate) fn add_event(connection: &Connection, event: &NewEvent) -> rusqlite::Result<u64> {
    connection
        .prepare_cached(
            "INSERT INTO events (time_ms, session, kind, cause, asked_by)
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            signed(event.time_ms),
            event.session.as_ref().map(SessionId::as_str),
            event.kind,
            event.cause,
            event.by,
        ])?;
    Ok(unsigned(connection.last_insert_rowid()))
}

/// Loads all sessions, oldest id first.
pub(crate) fn sessions(connection: &Connection) -> Result<Vec<SessionRecord>, LoadError> {
    let sql = "SELECT id, session, created_ms, started_ms, ended_ms FROM sessions ORDER BY id";
    load(connection, sql, |row| {
        let session: kennel_core::Session = from_json("session", row)?;
        let id: String = row.get(0)?;
        if session.id.as_str() != id {
            let why = format!("its record has the id {}", session.id);
            return Err(LoadError::Json { what: "session", id, why });
        }
        let times = SessionTimes {
            created_ms: unsigned(row.get(2)?),
            started_ms: row.get::<_, Option<i64>>(3)?.map(unsigned),
            ended_ms: row.get::<_, Option<i64>>(4)?.map(unsigned),
        };
        Ok(SessionRecord { session, times })
    })
}

/// Reads events, oldest first.
pub(crate) fn events(
    connection: &Connection,
    query: &EventQuery,
) -> rusqlite::Result<Vec<EventView>> {
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    let session = query.session.as_ref().map(SessionId::as_str);
    // Two statements, because only the first one can use the index of sessions.
    let sql = match session {
        Some(_) => {
            "SELECT seq, time_ms, session, kind, cause, asked_by FROM events
             WHERE seq > ?1 AND session = ?3 ORDER BY seq LIMIT ?2"
        }
        None => {
            "SELECT seq, time_ms, session, kind, cause, asked_by FROM events
             WHERE seq > ?1 AND ?3 IS NULL ORDER BY seq LIMIT ?2"
        }
    };
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_map(params![signed(query.since), limit, session], event_view)?.collect()
}

/// Returns the sequence number of the oldest event on record.
pub(crate) fn oldest_event(connection: &Connection) -> rusqlite::Result<Option<u64>> {
    let oldest: Option<i64> = connection
        .prepare_cached("SELECT min(seq) FROM events")?
        .query_row([], |row| row.get(0))?;
    Ok(oldest.map(unsigned))
}

fn event_view(row: &Row<'_>) -> rusqlite::Result<EventView> {
    Ok(EventView {
        seq: unsigned(row.get(0)?),
        time: rfc3339(unsigned(row.get(1)?)),
        session: row.get(2)?,
        kind: row.get(3)?,
        cause: row.get(4)?,
        by: row.get(5)?,
    })
}

/// Returns the sequence number of the newest event, deleted ones included.
pub(crate) fn last_seq(connection: &Connection) -> rusqlite::Result<u64> {
    let last: Option<i64> = connection
        .query_row("SELECT seq FROM sqlite_sequence WHERE name = 'events'", [], |row| row.get(0))
        .optional()?;
    Ok(last.map_or(0, unsigned))
}

/// Deletes the oldest events beyond the newest `keep`, but at most `limit`. Returns how many.
pub(crate) fn delete_events(
    connection: &Connection,
    keep: u64,
    limit: u64,
) -> rusqlite::Result<u64> {
    // Sequence numbers have no gaps, so they give the count.
    let last = last_seq(connection)?.saturating_sub(keep);
    let deleted = connection
        .prepare_cached(
            "DELETE FROM events WHERE seq <= ?1 AND seq < (SELECT min(seq) FROM events) + ?2",
        )?
        .execute([signed(last), signed(limit)])?;
    Ok(deleted as u64)
}

/// Returns the cleaned sessions beyond the `keep` that ended last, earliest end first.
pub(crate) fn excess(connection: &Connection, keep: u64) -> rusqlite::Result<Vec<SessionId>> {
    let mut statement = connection.prepare_cached(
        "SELECT id FROM sessions WHERE phase = ?1
         ORDER BY coalesce(ended_ms, created_ms) DESC, id DESC LIMIT -1 OFFSET ?2",
    )?;
    let rows = statement
        .query_map(params![Phase::Cleaned.name(), signed(keep)], |row| row.get(0))?
        .collect::<rusqlite::Result<Vec<String>>>()?;
    // An invalid id was not written by Kennel, so its row is left alone.
    Ok(rows.iter().rev().filter_map(|id| SessionId::parse(id).ok()).collect())
}

/// Returns the home that the register belongs to.
pub(crate) fn home(connection: &Connection) -> rusqlite::Result<Option<String>> {
    connection.query_row("SELECT id FROM home", [], |row| row.get(0)).optional()
}

/// Counts an opening of the register, and sets its home if it has none.
pub(crate) fn count_opening(connection: &Connection, home_id: &str) -> rusqlite::Result<()> {
    let sql = "INSERT INTO home (only, id, opened) VALUES (1, ?1, 1)
               ON CONFLICT (only) DO UPDATE SET opened = opened + 1";
    execute(connection, sql, [home_id])
}

/// Makes this home the register's owner.
pub(crate) fn claim(connection: &Connection, home_id: &str) -> rusqlite::Result<()> {
    execute(connection, "UPDATE home SET id = ?1", [home_id])
}

/// SQLite has no unsigned integers. No value here comes near the limit.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn to_json(value: &impl serde::Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn started_by_text(started_by: StartedBy) -> &'static str {
    match started_by {
        StartedBy::Kennel => "kennel",
        StartedBy::User => "terminal",
    }
}

fn wanted_text(wanted: DesiredState) -> &'static str {
    match wanted {
        DesiredState::Running => "running",
        DesiredState::Stopped { .. } => "stopped",
    }
}
