//! How yard, keeper and agent behave.

use crate::action::Action;
use crate::plot::{Agent, Keeper, Message, Order, Plot, Told, Truth};

const NEVER_RAN: Told = Told { exit: None, failed: false, lease_over: false };

impl Plot {
    pub(crate) fn keeper_moves(&mut self, action: Action) -> Result<(), String> {
        match action {
            Action::Fork => {
                if std::mem::replace(&mut self.history.forked, true) {
                    return Err("7: a second keeper".into());
                }
                self.keeper = Keeper::Waiting;
                self.say(Message::Hello);
            }
            Action::FailFork => {
                self.keeper = Keeper::None;
                self.say(Message::NotForked);
                self.hands.linked = false;
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
                self.over(Told { failed: true, ..NEVER_RAN });
            }
            Action::AgentExits { leftover } => {
                self.agent = Agent::Dead(Truth::Code);
                self.leftover = leftover;
                self.keeper = Keeper::Exited;
                self.say(Message::Exited(Truth::Code));
            }
            Action::AgentEnds => {
                self.agent = Agent::Dead(Truth::Term);
                self.say(Message::Exited(Truth::Term));
            }
            Action::TreeGone => {
                self.leftover = false;
                let lease_over = matches!(self.keeper, Keeper::Ending { lease_over: true });
                self.over(Told { exit: self.exit(), failed: false, lease_over });
            }
            Action::GiveUp => {
                self.agent = Agent::None;
                self.over(NEVER_RAN);
            }
            Action::LeaseOver => self.keeper = Keeper::Ending { lease_over: true },
            Action::Leave => self.keeper = Keeper::Left,
            Action::KillKeeper => self.kill_keeper(),
            Action::GateShuts => self.agent = Agent::None,
            Action::YardEnds => {
                if self.agent == Agent::Alive {
                    self.agent = Agent::Dead(Truth::Kill);
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
                    return Err("7: a second process".into());
                }
                self.agent = Agent::Gated;
                self.keeper = Keeper::Gated;
                self.say(Message::Born);
                self.hands.pidfd |= self.hands.linked;
            }
            (Keeper::Waiting | Keeper::Gated, Order::Dismiss | Order::Stop) => {
                self.agent = Agent::None;
                self.over(NEVER_RAN);
            }
            (Keeper::Gated, Order::Open) => {
                self.agent = Agent::Alive;
                self.history.ran = true;
                self.keeper = Keeper::Running;
                self.say(Message::Opened);
            }
            (Keeper::Running | Keeper::Exited, Order::Stop) => {
                self.keeper = Keeper::Ending { lease_over: false };
            }
            (Keeper::Over, Order::Release) => {
                self.keeper = Keeper::Left;
                self.hang_up();
            }
            // Too late, or too early, or said before: nothing. A dismissal ends no program.
            _ => {}
        }
        Ok(())
    }
}
