//! Blocking work on a thread of its own; a panic is reported as a result.

use std::any::Any;

use tokio::task::spawn_blocking;

/// Does the work on a blocking thread and passes the result to `done`, once. If the work panics,
/// `failed` makes the result from the panic's message, so that no caller waits forever.
pub(crate) fn run_blocking<T: Send + 'static>(
    what: &'static str,
    work: impl FnOnce() -> T + Send + 'static,
    failed: impl FnOnce(String) -> T + Send + 'static,
    done: impl FnOnce(T) + Send + 'static,
) {
    let work = spawn_blocking(work);
    tokio::spawn(async move {
        match work.await {
            Ok(result) => done(result),
            Err(error) => match error.try_into_panic() {
                Ok(panic) => {
                    let why = panic_message(&*panic);
                    tracing::error!(what, why, "a task has panicked");
                    done(failed(why));
                }
                // The runtime shuts down, and the daemon with it.
                Err(error) => tracing::debug!(what, %error, "a task was cancelled"),
            },
        }
    });
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot;

    async fn outcome(work: impl FnOnce() -> String + Send + 'static) -> String {
        let (sender, answer) = oneshot::channel();
        let failed = |why| format!("failed: {why}");
        run_blocking("a test", work, failed, |outcome| drop(sender.send(outcome)));
        answer.await.unwrap()
    }

    #[tokio::test]
    async fn passes_on_the_result_even_after_a_panic() {
        assert_eq!(outcome(|| "done".to_owned()).await, "done");
        let number = 7;
        assert_eq!(outcome(move || panic!("no {number}")).await, "failed: no 7");
        assert_eq!(outcome(|| panic!("plain")).await, "failed: plain");
        assert_eq!(outcome(move || std::panic::panic_any(number)).await, "failed: a panic");
    }
}
