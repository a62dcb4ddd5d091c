//! Going on with a plan that is over: nobody is asked, and nobody is told, before that is on record.

use std::time::Instant;

use kennel_core::plan::{Heard, Ignored, PlanEvent};
use kennel_keeper::fault::point;
use kennel_types::SessionId;
use kennel_types::plan::PlanView;

use super::time::Meter;
use crate::clock;
use crate::message::{Answer, Message};
use crate::order::NewLaunch;
use crate::owner::Owner;
use crate::refused::Refused;
use kennel_register::PlanRecord;

/// How a plan is gone on with.
pub(super) struct Resumption {
    pub(super) replay: bool,
    pub(super) tied: bool,
    pub(super) by: String,
    pub(super) launch: Box<NewLaunch>,
}

impl Owner {
    pub(super) fn resume_plan(&mut self, id: SessionId, how: Resumption, answer: Answer<PlanView>) {
        let former = match self.begin_resume(&id, how) {
            Ok(former) => former,
            Err(refused) => return drop(answer.send(Err(refused))),
        };
        let Some(run) = self.plans.0.get_mut(&id) else { return };
        let (bus, record, view) = (self.bus.clone(), run.noted(), run.view());
        self.register.save_plan(record, move |result| match result {
            Ok(()) => {
                point("daemon.plan.resumed");
                drop(answer.send(Ok(view)));
                bus.send(Message::PlanTurn { plan: id }).ok();
            }
            Err(why) => {
                let text = format!("that the plan goes on can't be put on record: {why}");
                drop(answer.send(Err(Refused::busy(text))));
                bus.send(Message::PlanNotResumed { former: Box::new(former) }).ok();
            }
        });
    }

    /// Gives what is on record so far.
    fn begin_resume(&mut self, id: &SessionId, how: Resumption) -> Result<PlanRecord, Refused> {
        if self.leaving.is_some() {
            return Err(Refused::leaving());
        }
        let gone = || Refused::not_found(format!("there is no plan {id}"));
        let run = self.plans.0.get_mut(id).ok_or_else(gone)?;
        let former = run.record.clone();
        let Resumption { replay, tied, by, launch } = how;
        if let Heard::Ignored(why) = run.happened(&PlanEvent::Resumed { replay }) {
            let refused = Refused::conflict(&why);
            return Err(match why {
                Ignored::MayHaveRun(_) => refused.hint("--replay asks it again all the same"),
                Ignored::NotOver => refused.hint("`kennel plan show` tells how it stands"),
                _ => refused,
            });
        }
        run.launch = Some(launch);
        run.record.tied = tied;
        run.tied = false;
        run.record.begun_ms = clock::now_ms();
        run.record.ended_ms = None;
        run.meter = Meter::from_record(0, Instant::now());
        self.note(None, "plan_resumed", format!("{id}, by {by}"));
        self.begin_plan(id);
        Ok(former)
    }

    /// It is not on record that it goes on, and nobody was asked: so it does not.
    pub(in crate::owner) fn plan_not_resumed(&mut self, former: PlanRecord) {
        let id = former.id.clone();
        let Some(run) = self.plans.0.get_mut(&id) else { return };
        run.record = former;
        run.launch = None;
        if let Some(timer) = run.timer.take() {
            timer.abort();
        }
        let (view, waiters) = (run.view(), std::mem::take(&mut run.waiters));
        for waiter in waiters {
            drop(waiter.send(Ok(view.clone())));
        }
        self.forget_kept_plan(&id);
        // What came meanwhile may be on record instead.
        self.save_plan(&id);
    }
}
