//! A line in the journal of a session: read from its files when its keeper reports output.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kennel_keeper::journal::{JournalItem, JournalReader};
use kennel_keeper::protocol::{KeeperReport, KeeperRequest, PeerRole};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use super::attempt::Observed;
use super::lines::{Matcher, compile};
use crate::keeper::request::{KeeperConnection, KeeperRequestError};
use crate::os::home::JOURNAL;

/// The pause between reads if no keeper reports output: it has too many connections, or is about to
/// end.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// The shortest pause between reads: the journal is not read for every line.
const MIN_PAUSE: Duration = Duration::from_millis(20);
const GREETING_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) async fn matched(folder: &Path, pattern: &str, observed: &Observed) -> String {
    let pattern = match compile(pattern) {
        Ok(pattern) => pattern,
        // The pattern was checked with the request; another version may judge it differently.
        Err(why) => {
            tracing::error!(%why, "a session can't become ready");
            observed.note(why);
            return std::future::pending().await;
        }
    };
    let mut scan = Scan {
        folder: folder.join(JOURNAL),
        reader: None,
        matcher: Matcher::new(pattern),
        printed: false,
    };
    let mut waker = Waker { folder: folder.to_owned(), keeper: None };
    loop {
        // Before the read: later output wakes the task.
        waker.listen().await;
        let look = spawn_blocking(move || {
            let found = scan.look();
            (scan, found)
        });
        // It fails only if the daemon shuts down.
        let Ok((again, found)) = look.await else { return std::future::pending().await };
        scan = again;
        match found {
            Ok(Some(found)) => return found,
            Ok(None) if scan.printed => observed.note("no line of its output matched"),
            Ok(None) => observed.note("it printed nothing"),
            Err(error) => {
                observed.note(format!("can't read its output: {error}"));
                tracing::warn!(%error, "can't read a journal for now");
            }
        }
        waker.woken().await;
    }
}

struct Scan {
    folder: PathBuf,
    reader: Option<JournalReader>,
    matcher: Matcher,
    printed: bool,
}

impl Scan {
    /// Reads to the end, or to a line that matches. Blocks on the disk.
    fn look(&mut self) -> io::Result<Option<String>> {
        let reader = match &mut self.reader {
            Some(reader) => reader,
            none => none.insert(JournalReader::open(&self.folder)?),
        };
        loop {
            match reader.next()? {
                JournalItem::Data { stream, data, .. } => {
                    self.printed = true;
                    if let Some(found) = self.matcher.take(stream, data) {
                        return Ok(Some(found));
                    }
                }
                JournalItem::Gap { .. } => self.matcher.gap(),
                JournalItem::End => return Ok(self.matcher.pause()),
            }
        }
    }
}

/// Waits until there may be more output.
struct Waker {
    folder: PathBuf,
    keeper: Option<KeeperConnection>,
}

impl Waker {
    /// Connects to the keeper, so that it reports output.
    async fn listen(&mut self) {
        if self.keeper.is_some() {
            return;
        }
        let follow = async {
            let keeper = KeeperConnection::connect(&self.folder)?;
            keeper.greet(PeerRole::Client).await?;
            keeper.send(&KeeperRequest::Follow).await?;
            Ok::<_, KeeperRequestError>(keeper)
        };
        self.keeper = timeout(GREETING_TIMEOUT, follow).await.ok().and_then(Result::ok);
    }

    async fn woken(&mut self) {
        let Some(keeper) = &self.keeper else { return sleep(POLL_INTERVAL).await };
        let grown =
            keeper.wait_for(|report, _| matches!(report, KeeperReport::Grown(_)).then_some(()));
        if grown.await.is_err() {
            self.keeper = None;
            return sleep(POLL_INTERVAL).await;
        }
        sleep(MIN_PAUSE).await;
        if keeper.drop_pending().is_err() {
            self.keeper = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use kennel_keeper::journal::{JournalWriter, STDOUT};

    use super::*;

    #[tokio::test]
    async fn finds_a_line_that_comes_before_or_after_the_watch_begins() {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join(JOURNAL);
        let waiting = tokio::spawn({
            let folder = folder.path().to_owned();
            async move { matched(&folder, "up [0-9]", &Observed::default()).await }
        });
        tokio::task::yield_now().await;
        let mut writer = JournalWriter::create(&journal, 1 << 20).unwrap();
        let _appended = writer.append(STDOUT, 1, b"not yet\nup ");
        let _appended = writer.append(STDOUT, 1, b"7 and more");
        let found = timeout(Duration::from_secs(20), waiting).await.unwrap().unwrap();
        assert_eq!(found, "it printed \"up 7 and more\"");
        let observed = Observed::default();
        let again = matched(folder.path(), "^not", &observed);
        let again = timeout(Duration::from_secs(20), again).await;
        assert_eq!(again.unwrap(), "it printed \"not yet\"");
        assert_eq!(observed.last(), None);
    }
}
