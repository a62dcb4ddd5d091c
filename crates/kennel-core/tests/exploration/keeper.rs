//! The behaviour of yard, keeper and agent.

use crate::action::Action;
use crate::model::{ActualExit, Agent, Keeper, KeeperOutcome, Message, Order, SessionModel};

const NEVER_RAN: KeeperOutcome = KeeperOutcome { exit: None, failed: false, lease_over: false };

impl SessionModel {
    pub(crate) fn keeper_moves(&mut self, action: Action) -> Result<(), String> {
        match action {
            Action::Fork => {
                if std::mem::replace(&mut self.history.forked, true) {
                    return Err("7: a second keeper was started".into());
                }
                self.keeper = Keeper::Waiting;
                self.send(Message::Hello);
            }
            Action::FailFork => {
                self.keeper = Keeper::None;
                self.send(Message::NotForked);
                self.work.linked = false;
                self.orders.clear();
            }
            Action::Obey(order) => {
                self.orders.take(order);
                self.obey(order)?;
            }
            Action::ObeyTwice(order) => self.obey(order)?,
            Action::FailLaunch(order) => {
                self.orders.take(order);
                self.agent = Agent::None;
                self.over(KeeperOutcome { failed: true, ..NEVER_RAN });
            }
            Action::AgentExits { leftover } => {
                self.agent = Agent::Dead(ActualExit::Code);
                self.leftover = leftover;
                self.keeper = Keeper::Exited;
                self.send(Message::Exited(ActualExit::Code));
            }
            Action::AgentEnds => {
                self.agent = Agent::Dead(ActualExit::Term);
                self.send(Message::Exited(ActualExit::Term));
            }
            Action::TreeGone => {
                self.leftover = false;
                let lease_over = matches!(self.keeper, Keeper::Ending { lease_over: true });
                self.over(KeeperOutcome { exit: self.exit(), failed: false, lease_over });
            }
            Action::GiveUp => {
                self.agent = Agent::None;
                self.over(NEVER_RAN);
            }
            Action::LeaseOver => self.keeper = Keeper::Ending { lease_over: true },
            Action::Leave => self.keeper = Keeper::Left,
            Action::KillKeeper => self.kill_keeper(),
            Action::GateCloses => self.agent = Agent::None,
            Action::YardEndsOrphans => {
                if self.agent == Agent::Alive {
                    self.agent = Agent::Dead(ActualExit::Kill);
                }
                self.leftover = false;
            }
            other => unreachable!("{other:?}"),
        }
        Ok(())
    }

    fn obey(&mut self, order: Order) -> Result<(), String> {
        match (self.keeper, order) {
            (Keeper::Waiting, Order::Go) => {
                if self.synced.is_none() {
                    return Err("1: born without a durable row".into());
                }
                if std::mem::replace(&mut self.history.born, true) || self.agent != Agent::None {
                    return Err("7: a second process was started".into());
                }
                self.agent = Agent::Gated;
                self.keeper = Keeper::Gated;
                self.send(Message::Born);
                self.work.pidfd |= self.work.linked;
            }
            (Keeper::Waiting | Keeper::Gated, Order::Dismiss | Order::Stop) => {
                self.agent = Agent::None;
                self.over(NEVER_RAN);
            }
            (Keeper::Gated, Order::Open) => {
                self.agent = Agent::Alive;
                self.history.ran = true;
                self.keeper = Keeper::Running;
                self.send(Message::Opened);
            }
            (Keeper::Running | Keeper::Exited, Order::Stop) => {
                self.keeper = Keeper::Ending { lease_over: false };
            }
            (Keeper::Over, Order::Release) => {
                self.keeper = Keeper::Left;
                self.hang_up();
            }
            // Too late, too early, or repeated: ignored. A dismissal ends no program.
            _ => {}
        }
        Ok(())
    }
}
