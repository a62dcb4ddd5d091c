//! Everything about a session, from those who know.

use std::time::Duration;

use kennel_core::api::{InspectView, MemberView, UsageView};
use kennel_core::{EventView, PenKind};
use kennel_keeper::protocol::{Report, Request, Role};
use kennel_pen::{Member, Usage};
use kennel_sys::identity::Stat;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::conversation::{Conversation, TalkError};
use crate::home::Home;
use crate::message::Inspected;
use crate::processes;
use crate::register::{EventQuery, Register};

/// How long a keeper may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// The most events of a timeline.
const TIMELINE: usize = 1000;

/// Looks at a session's processes and its history. What can't be found out is said.
pub(crate) async fn inspect(home: &Home, register: &Register, known: Inspected) -> InspectView {
    let mut trouble = Vec::new();
    let (mut members, mut usage) = (Vec::new(), None);
    let Inspected { view, launch, keeper_pid, id } = known;
    if keeper_pid.is_some() {
        // In a namespace of its own the keeper speaks of numbers that mean others here.
        let look = if view.spec.pen == PenKind::Pidns { bare_member } else { member };
        match timeout(PATIENCE, ask(home.session(&id), look)).await {
            Ok(Ok((found, used))) => (members, usage) = (found, Some(used)),
            // It ended just now: nobody is in it.
            Ok(Err(TalkError::NobodyListens)) => {}
            Ok(Err(error)) => trouble.push(format!("its keeper can't be asked: {error}")),
            Err(_) => trouble.push("its keeper does not answer".to_owned()),
        }
    }
    let (register, session) = (register.clone(), Some(id));
    let query = EventQuery { since: 0, session, limit: TIMELINE };
    let timeline = spawn_blocking(move || register.events(query)).await;
    let timeline: Vec<EventView> = match timeline {
        Ok(Ok(events)) => events,
        Ok(Err(error)) => {
            trouble.push(error.to_string());
            Vec::new()
        }
        Err(error) => {
            trouble.push(error.to_string());
            Vec::new()
        }
    };
    if let Some(lost) = view.survivors.first() {
        trouble.push(format!("pid {} ({}) can't be ended: {}", lost.pid, lost.name, lost.why));
    }
    InspectView { session: view, members, usage, timeline, launch, keeper_pid, trouble }
}

async fn ask(
    folder: std::path::PathBuf,
    look: fn(&Member) -> MemberView,
) -> Result<(Vec<MemberView>, UsageView), TalkError> {
    let conversation = Conversation::begin(&folder)?;
    conversation.greet(Role::Client).await?;
    conversation.say(&Request::Members).await?;
    conversation.say(&Request::Usage).await?;
    let mut members = Vec::new();
    let usage = conversation.hear(|report, _| match report {
        Report::Members(found) => {
            members = found;
            None
        }
        Report::Usage(usage) => Some(usage),
        _ => None,
    });
    let usage = usage.await?;
    Ok((members.iter().map(look).collect(), usage_view(&usage)))
}

/// A member as the keeper sees it, with what only a look at it tells.
fn member(member: &Member) -> MemberView {
    MemberView {
        parent: Stat::read(member.pid).ok().flatten().map_or(0, |stat| stat.parent),
        command: processes::command(member.pid),
        ..bare_member(member)
    }
}

/// A member as the keeper sees it.
fn bare_member(member: &Member) -> MemberView {
    MemberView {
        pid: member.pid,
        parent: 0,
        name: member.name.clone(),
        state: member.state.to_string(),
        command: String::new(),
    }
}

fn usage_view(usage: &Usage) -> UsageView {
    UsageView {
        cpu_ms: u64::try_from(usage.cpu.as_millis()).unwrap_or(u64::MAX),
        memory_bytes: usage.memory,
        processes: usage.processes,
    }
}
