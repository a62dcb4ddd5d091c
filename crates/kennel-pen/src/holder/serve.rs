//! The holder's own side: a small process with one thread that launches one agent into one pen, ends it
//! when told to, when its caller vanishes, or when the agent has left something behind; and goes only
//! when the pen is empty.
//!
//! ```text
//! order -> pen -> process behind its gate -> Born -> Open? -> Running -> … -> Exited -> … -> Gone
//!             \________________________________\_ Failed            \__________________/
//!                                                          the policy decides; see `policy.rs`
//! ```

use std::collections::VecDeque;
use std::error::Error;
use std::io;
use std::time::{Duration, Instant};

use kennel_sys::fault::CallError;
use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::process::Signal;
use rustix::termios::{OptionalActions, Termios};

use super::message::{Failure, Report, Request};
use super::order::{self, HeldKind, Order};
use crate::wire::{Channel, Delivery, Received};

use super::surroundings::{self, Surroundings};
use crate::command::{AgentEnd, AgentEnds, CallerEnds};
use crate::end::EndOutcome;
use crate::end_policy::{EndPolicy, EndStep};
use crate::host_support::HostSupport;
use crate::launch::LaunchError;
use crate::pen::{Pen, Woken, poll};
use crate::removal::RemovalFailure;

/// How long the caller may take for the next step of a launch. It is a program, not a person.
const CALLER: Duration = Duration::from_secs(60);
/// How long the exec may take: a program on a slow network file system, not a hanging one.
const EXEC: Duration = Duration::from_secs(30);
/// The length of one bout of killing, between which requests are read.
const BOUT: Duration = Duration::from_millis(250);
/// When those who can't be ended are told for the first time.
const PATIENCE: Duration = Duration::from_secs(5);
/// The pause between bouts once patience is over: still probed, no longer hammered at.
const PROBE: Duration = Duration::from_secs(1);
/// The most entries of a list in a report.
const LONGEST_LIST: usize = 2000;

/// Launches what the caller orders, and holds it until nobody is left.
pub(crate) fn serve(channel: Channel, own: &Surroundings) -> io::Result<()> {
    let Some(launch) = receive_order(&channel)? else {
        return Ok(());
    };
    let terminal = launch.restore.map(TerminalToRestore::new);
    if let Some((nth, errno)) = launch.order.fault {
        surroundings::arm_fault(nth, errno);
    }
    let mut order = launch.order;
    own.give_to(&mut order.command);
    match hold(&channel, &order, launch.ends, own) {
        Ok(Some(pen)) => {
            let holder = Holder {
                policy: EndPolicy::new(order.linger, order.grace),
                pen,
                caller: Caller { channel: &channel, outbox: VecDeque::new(), gone: false },
                terminal,
                told_exit: false,
                stop_asked: false,
                killing_since: None,
                told_survivors: false,
            };
            holder.run()
        }
        Ok(None) => Ok(()), // the caller changed its mind, and nothing was run
        Err(failure) => {
            // Nobody else to tell if the caller is gone too: nothing runs, which is what matters.
            let _told = channel.send(&Report::Failed(failure).encode(), &[])?;
            Ok(())
        }
    }
}

struct Launch {
    order: Order,
    ends: AgentEnds,
    restore: Option<OwnedFd>,
}

fn receive_order(channel: &Channel) -> io::Result<Option<Launch>> {
    let garbled = || io::Error::new(io::ErrorKind::InvalidData, "the first message is no order");
    let Some((request, descriptors)) = next_request(channel, Instant::now() + CALLER)? else {
        return Ok(None);
    };
    let mut descriptors = descriptors.into_iter();
    let mut next = || descriptors.next().ok_or_else(garbled);
    if request != Request::Launch {
        return Err(garbled());
    }
    let text = surroundings::read_memfd(next()?)?;
    let order::Received { order, terminal, restores } =
        order::Received::decode(&text).map_err(|_| garbled())?;
    let streams = [next()?, next()?, next()?].map(AgentEnd::Opened);
    let restore = if restores { Some(next()?) } else { None };
    Ok(Some(Launch { order, ends: AgentEnds { streams, terminal }, restore }))
}

/// The caller's next request; `None` if it is gone or takes too long.
fn next_request(
    channel: &Channel,
    deadline: Instant,
) -> io::Result<Option<(Request, Vec<OwnedFd>)>> {
    loop {
        match channel.receive()? {
            Received::End => return Ok(None),
            Received::Message(bytes, descriptors) => {
                let request = Request::decode(&bytes)
                    .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
                return Ok(Some((request, descriptors)));
            }
            Received::Nothing => {
                let ready = &mut [PollFd::new(channel, PollFlags::IN)];
                if poll(ready, Some(deadline))? == Woken::Deadline {
                    return Ok(None);
                }
            }
        }
    }
}

/// Makes the pen and the process, and opens the gate when the caller says so.
fn hold(
    channel: &Channel,
    order: &Order,
    ends: AgentEnds,
    own: &Surroundings,
) -> Result<Option<Pen>, Failure> {
    let ground = match order.kind {
        HeldKind::Subtree | HeldKind::Namespace => HostSupport::without_cgroup(),
        HeldKind::Auto | HeldKind::Cgroup => HostSupport::survey(&order.name.home),
    };
    let mut pen = Pen::create(&ground, order.name.clone(), order.kind.pen())
        .map_err(|error| Failure::Pen(with_causes(&error)))?;
    pen.namespace = own.namespace;
    let opened = launch(channel, &mut pen, order, ends);
    if let Ok(true) = opened {
        return Ok(Some(pen));
    }
    // Whatever was started is ended, and seen to be, before anyone is told that it failed.
    match pen.end(Instant::now() + PATIENCE).and_then(|_| pen.remove().map_err(io::Error::other)) {
        Ok(()) => opened.map(|_| None),
        Err(error) => {
            Err(Failure::Pen(format!("a failed launch could not be cleaned up: {error}")))
        }
    }
}

/// Whether the gate was opened; an error means that nothing runs.
fn launch(
    channel: &Channel,
    pen: &mut Pen,
    order: &Order,
    ends: AgentEnds,
) -> Result<bool, Failure> {
    let call = |name| move |error| Failure::Launch(CallError::new(name, error).into());
    pen.arm().map_err(|error| Failure::Launch(error.into()))?;
    let likelier = crate::oom::OomScore::raised();
    let cgroup = pen.cgroup_path().map(ToOwned::to_owned);
    let gated =
        pen.launch_with(&order.command, ends, CallerEnds::default()).map_err(Failure::Launch)?;
    let born = Report::Born { identity: gated.identity().clone(), cgroup };
    let handle = gated.pidfd().map_or_else(Vec::new, |fd| vec![fd]);
    let told = channel.send(&born.encode(), &handle).map_err(call("sendmsg"))?;
    drop(handle);
    if told != Delivery::Sent {
        return Ok(false);
    }
    // Anything but the explicit word is a no: the end of the stream, a kill, a silence.
    let word = next_request(channel, Instant::now() + CALLER).map_err(call("recvmsg"))?;
    if !matches!(word, Some((Request::Open, _))) {
        return Ok(false);
    }
    gated.open(Instant::now() + EXEC).map_err(|error: LaunchError| Failure::Launch(error))?;
    drop(likelier);
    let _seen_later = channel.send(&Report::Running.encode(), &[]).map_err(call("sendmsg"))?;
    Ok(true)
}

/// An error with its causes in one line, for a process that can't look at them.
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text.push_str(": ");
        text.push_str(&next.to_string());
        cause = next.source();
    }
    text
}

/// The caller, who may read slowly or be gone.
struct Caller<'c> {
    channel: &'c Channel,
    outbox: VecDeque<Vec<u8>>,
    gone: bool,
}

impl Caller<'_> {
    fn tell(&mut self, report: &Report) -> io::Result<()> {
        self.outbox.push_back(report.encode());
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        while let Some(message) = self.outbox.front() {
            match self.channel.send(message, &[]) {
                Ok(Delivery::Full) => return Ok(()),
                Ok(Delivery::Closed) => {
                    self.gone = true;
                    self.outbox.clear();
                }
                Ok(Delivery::Sent) => drop(self.outbox.pop_front()),
                // This one can't be sent (too long); what comes after it must not wait for that.
                Err(error) => {
                    drop(self.outbox.pop_front());
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}

struct Holder<'c> {
    pen: Pen,
    policy: EndPolicy,
    caller: Caller<'c>,
    terminal: Option<TerminalToRestore>,
    told_exit: bool,
    stop_asked: bool,
    killing_since: Option<Instant>,
    told_survivors: bool,
}

impl Holder<'_> {
    fn run(mut self) -> io::Result<()> {
        // What goes wrong in a turn (no descriptors, no memory) goes wrong for now: the tree is still
        // ours, so we say so and go on. Leaving would leave it alone.
        while let Err(error) = self.turns() {
            self.caller.tell(&Report::Trouble(error.to_string())).ok();
            let _paused = self.pen.wait(Some(Instant::now() + PROBE), &[]);
        }
        self.farewell()
    }

    /// Turns until the pen is empty and removed.
    fn turns(&mut self) -> io::Result<()> {
        loop {
            let empty = self.pen.is_empty()?;
            self.notice_exit()?;
            self.read_requests()?;
            if empty {
                return self.finish();
            }
            if self.caller.gone {
                self.restore_terminal();
                self.policy.kill();
            }
            match self.policy.due(Instant::now()) {
                EndStep::Wait(until) => self.wait(until)?,
                EndStep::Terminate => self.terminate()?,
                EndStep::Kill => self.kill()?,
            }
        }
    }

    fn wait(&mut self, until: Option<Instant>) -> io::Result<()> {
        self.caller.flush()?;
        // With something left to say we come back soon, whether or not the caller reads.
        let again = Some(Instant::now() + PROBE).filter(|_| !self.caller.outbox.is_empty());
        let until = [until, again].into_iter().flatten().min();
        let caller: &[BorrowedFd<'_>] =
            if self.caller.gone { &[] } else { &[self.caller.channel.as_fd()] };
        let _woken = self.pen.wait(until, caller)?;
        Ok(())
    }

    fn notice_exit(&mut self) -> io::Result<()> {
        if let Some(status) = self.pen.status()
            && !self.told_exit
        {
            self.told_exit = true;
            let report = Report::Exited(status.clone());
            self.policy.agent_exited(Instant::now());
            self.caller.tell(&report)?;
        }
        Ok(())
    }

    fn read_requests(&mut self) -> io::Result<()> {
        while !self.caller.gone {
            match self.caller.channel.receive()? {
                Received::Nothing => break,
                Received::End => self.caller.gone = true,
                Received::Message(bytes, _) => match Request::decode(&bytes) {
                    Ok(request) => self.answer(request)?,
                    Err(error) => self.caller.tell(&Report::Trouble(error.to_string()))?,
                },
            }
        }
        Ok(())
    }

    fn answer(&mut self, request: Request) -> io::Result<()> {
        match request {
            Request::Stop(grace) => {
                self.stop_asked = true;
                self.policy.stop(Instant::now(), grace);
                self.caller.tell(&Report::Ending)
            }
            Request::Kill => {
                self.policy.kill();
                self.caller.tell(&Report::Ending)
            }
            Request::Signal(number) => match Signal::from_named_raw(number) {
                Some(signal) => self.pen.signal(signal),
                None => self.caller.tell(&Report::Trouble(format!("there is no signal {number}"))),
            },
            Request::Members => {
                let mut members = self.pen.members()?;
                members.truncate(LONGEST_LIST);
                self.caller.tell(&Report::Members(members))
            }
            Request::Usage => self.caller.tell(&Report::Usage(self.pen.usage()?)),
            Request::Launch | Request::Open | Request::Release => {
                self.caller.tell(&Report::Trouble(format!("{request:?} makes no sense now")))
            }
        }
    }

    fn terminate(&mut self) -> io::Result<()> {
        // A listing that fails costs the news, not the TERM.
        if !self.stop_asked
            && let Ok(mut members) = self.pen.members()
        {
            members.retain(|member| !member.dead);
            members.truncate(LONGEST_LIST);
            self.caller.tell(&Report::LeftBehind(members)).ok();
        }
        self.pen.signal(Signal::TERM)
    }

    fn kill(&mut self) -> io::Result<()> {
        let now = Instant::now();
        let since = *self.killing_since.get_or_insert(now);
        let impatient = now.saturating_duration_since(since) >= PATIENCE;
        match self.pen.end(now + BOUT)? {
            EndOutcome::Empty => Ok(()),
            EndOutcome::StillAlive(mut survivors) => {
                if impatient && !self.told_survivors {
                    self.told_survivors = true;
                    survivors.truncate(LONGEST_LIST);
                    self.caller.tell(&Report::StillAlive(survivors))?;
                }
                let pause = if impatient { Instant::now() + PROBE } else { Instant::now() };
                self.wait(Some(pause))
            }
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        let cpu = self.pen.usage().map(|usage| usage.cpu).unwrap_or_default();
        match self.pen.try_remove() {
            Ok(()) => {}
            Err(RemovalFailure::Occupied) => {
                return Err(io::Error::other(RemovalFailure::Occupied));
            }
            // Nobody is in it. A folder that stays is swept up by the next run of this home.
            Err(RemovalFailure::Call(error)) => {
                self.caller.tell(&Report::Trouble(error.to_string()))?
            }
        }
        let status = self.pen.status().cloned();
        self.caller.tell(&Report::Gone { status, cpu })
    }

    /// The caller gets its time to read the last word; then nothing is left to hold.
    fn farewell(mut self) -> io::Result<()> {
        let deadline = Instant::now() + CALLER;
        self.caller.flush()?;
        while !self.caller.gone {
            match next_request(self.caller.channel, deadline)? {
                Some((Request::Release, _)) => return Ok(()),
                Some(_) => self.caller.flush()?,
                None => break,
            }
        }
        self.restore_terminal();
        Ok(())
    }

    /// The caller is gone without a word, by whichever way we came to know it: it can't put its terminal
    /// back any more.
    fn restore_terminal(&mut self) {
        if let Some(terminal) = self.terminal.take() {
            terminal.restore();
        }
    }
}

/// A terminal of the caller's, and its settings before the caller changed them.
struct TerminalToRestore {
    terminal: OwnedFd,
    settings: Option<Termios>,
}

impl TerminalToRestore {
    fn new(terminal: OwnedFd) -> Self {
        let settings = rustix::termios::tcgetattr(&terminal).ok();
        Self { terminal, settings }
    }

    /// Our session has no terminal, so the kernel lets us change this one without being in front.
    fn restore(self) {
        if let Some(settings) = self.settings {
            // Whoever could be told of a failure has just vanished.
            rustix::termios::tcsetattr(&self.terminal, OptionalActions::Now, &settings).ok();
        }
    }
}
