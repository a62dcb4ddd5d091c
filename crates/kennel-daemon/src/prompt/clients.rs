//! Prompts that end with the client that waits for them.

use std::collections::HashSet;

use kennel_types::SessionId;

/// Which prompts have a client that waits and is tied to them.
#[derive(Debug, Default)]
pub(crate) struct PromptClients(HashSet<SessionId>);

impl PromptClients {
    pub(crate) fn add(&mut self, id: &SessionId) {
        self.0.insert(id.base());
    }

    pub(crate) fn contains(&self, id: &SessionId) -> bool {
        self.0.contains(&id.base())
    }

    pub(crate) fn remove(&mut self, id: &SessionId) {
        self.0.remove(&id.base());
    }
}

#[cfg(test)]
mod tests {
    use kennel_types::IdMaker;

    use super::*;

    #[test]
    fn a_tether_holds_for_all_attempts_of_a_prompt() {
        let id = IdMaker::default().next(0, 1);
        let mut prompt_clients = PromptClients::default();
        prompt_clients.add(&id.next_attempt());
        assert!(prompt_clients.contains(&id));
        prompt_clients.remove(&id);
        assert!(!prompt_clients.contains(&id.next_attempt()));
    }
}
