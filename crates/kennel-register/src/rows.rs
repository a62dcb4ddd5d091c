//! Every SQL statement on the register's tables.

use kennel_core::{DesiredState, Member};
use kennel_types::{EventView, Phase, SessionId, StartedBy, timestamp::rfc3339};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::record::{EventQuery, NewEvent, PlanRecord, SessionRecord, SessionTimes};

/// A row can't be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error("can't parse session {id}: {why}")]
    Session { id: String, why: String },
    #[error("can't parse plan {id}: {why}")]
    Plan { id: String, why: String },
    #[error("can't parse member {name:?}: {why}")]
    Member { name: String, why: String },
}

pub(crate) fn save(connection: &Connection, record: &SessionRecord) -> rusqlite::Result<()> {
    let SessionRecord { session, times } = record;
    let json = to_json(session)?;
    connection
        .prepare_cached(
            "INSERT INTO sessions
                 (id, name, phase, wanted, created_ms, started_ms, ended_ms, session, started_by)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
             ON CONFLICT (id) DO UPDATE SET
                 name = excluded.name, phase = excluded.phase, wanted = excluded.wanted,
                 created_ms = excluded.created_ms, started_ms = excluded.started_ms,
                 ended_ms = excluded.ended_ms, session = excluded.session,
                 started_by = excluded.started_by",
        )?
        .execute(params![
            session.id.as_str(),
            session.spec.name,
            phase_text(session.phase),
            wanted_text(session.wanted),
            signed(times.created_ms),
            times.started_ms.map(signed),
            times.ended_ms.map(signed),
            json,
            started_by_text(session.started_by),
        ])
        .map(drop)
}

/// Removes a session's row, if it exists. Its events stay.
pub(crate) fn remove(connection: &Connection, id: &SessionId) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM sessions WHERE id = ?1")?
        .execute([id.as_str()])
        .map(drop)
}

pub(crate) fn save_member(connection: &Connection, member: &Member) -> rusqlite::Result<()> {
    let json = to_json(member)?;
    connection
        .prepare_cached(
            "INSERT INTO members (name, member) VALUES (?1, ?2)
             ON CONFLICT (name) DO UPDATE SET member = excluded.member",
        )?
        .execute(params![member.name, json])
        .map(drop)
}

pub(crate) fn remove_member(connection: &Connection, name: &str) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM members WHERE name = ?1")?.execute([name]).map(drop)
}

pub(crate) fn save_plan(connection: &Connection, plan: &PlanRecord) -> rusqlite::Result<()> {
    let json = to_json(plan)?;
    connection
        .prepare_cached(
            "INSERT INTO plans (id, plan) VALUES (?1, ?2)
             ON CONFLICT (id) DO UPDATE SET plan = excluded.plan",
        )?
        .execute(params![plan.id.as_str(), json])
        .map(drop)
}

pub(crate) fn remove_plan(connection: &Connection, id: &SessionId) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM plans WHERE id = ?1")?.execute([id.as_str()]).map(drop)
}

/// Loads all plans, oldest first.
pub(crate) fn plans(connection: &Connection) -> Result<Vec<PlanRecord>, LoadError> {
    let mut statement = connection.prepare("SELECT id, plan FROM plans ORDER BY id")?;
    let mut rows = statement.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let (id, json): (String, String) = (row.get(0)?, row.get(1)?);
        let plan = serde_json::from_str(&json);
        all.push(plan.map_err(|error| LoadError::Plan { id, why: error.to_string() })?);
    }
    Ok(all)
}

/// Loads all members.
pub(crate) fn members(connection: &Connection) -> Result<Vec<Member>, LoadError> {
    let mut statement = connection.prepare("SELECT name, member FROM members ORDER BY name")?;
    let mut rows = statement.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let (name, json): (String, String) = (row.get(0)?, row.get(1)?);
        let member = serde_json::from_str(&json);
        all.push(member.map_err(|error| LoadError::Member { name, why: error.to_string() })?);
    }
    Ok(all)
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
    let mut statement = connection.prepare(
        "SELECT id, created_ms, started_ms, ended_ms, session FROM sessions ORDER BY id",
    )?;
    let mut rows = statement.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(session_record(row)?);
    }
    Ok(all)
}

fn session_record(row: &Row<'_>) -> Result<SessionRecord, LoadError> {
    let id: String = row.get(0)?;
    let times = SessionTimes {
        created_ms: unsigned(row.get(1)?),
        started_ms: row.get::<_, Option<i64>>(2)?.map(unsigned),
        ended_ms: row.get::<_, Option<i64>>(3)?.map(unsigned),
    };
    let json: String = row.get(4)?;
    let unreadable = |why: String| LoadError::Session { id: id.clone(), why };
    let session: kennel_core::Session =
        serde_json::from_str(&json).map_err(|error| unreadable(error.to_string()))?;
    if session.id.as_str() != id {
        return Err(unreadable(format!("its record has the id {}", session.id)));
    }
    Ok(SessionRecord { session, times })
}

/// Reads events, oldest first.
pub(crate) fn events(
    connection: &Connection,
    query: &EventQuery,
) -> rusqlite::Result<Vec<EventView>> {
    let since = signed(query.since);
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    match &query.session {
        Some(session) => connection
            .prepare_cached(
                "SELECT seq, time_ms, session, kind, cause, asked_by FROM events
                 WHERE seq > ?1 AND session = ?2 ORDER BY seq LIMIT ?3",
            )?
            .query_map(params![since, session.as_str(), limit], event_view)?
            .collect(),
        None => connection
            .prepare_cached(
                "SELECT seq, time_ms, session, kind, cause, asked_by FROM events
                 WHERE seq > ?1 ORDER BY seq LIMIT ?2",
            )?
            .query_map(params![since, limit], event_view)?
            .collect(),
    }
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
    // Sequence numbers have no gaps, so they tell the count.
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
        .query_map(params![phase_text(Phase::Cleaned), signed(keep)], |row| row.get(0))?
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
    connection
        .prepare_cached(
            "INSERT INTO home (only, id, opened) VALUES (1, ?1, 1)
             ON CONFLICT (only) DO UPDATE SET opened = opened + 1",
        )?
        .execute([home_id])
        .map(drop)
}

/// Makes this home the register's owner.
pub(crate) fn claim(connection: &Connection, home_id: &str) -> rusqlite::Result<()> {
    connection.prepare_cached("UPDATE home SET id = ?1")?.execute([home_id]).map(drop)
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

fn phase_text(phase: Phase) -> &'static str {
    phase.name()
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
