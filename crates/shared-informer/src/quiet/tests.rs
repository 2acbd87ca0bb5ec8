//! What wakes the task, and what does not.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use super::{ROUNDS, quiet};

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Polls once; how often the task was woken meanwhile.
fn poll<F: Future>(future: std::pin::Pin<&mut F>, woken: &Arc<Count>) -> (Poll<F::Output>, usize) {
    let before = woken.0.load(Ordering::SeqCst);
    let polled = future.poll(&mut Context::from_waker(&Waker::from(woken.clone())));
    (polled, woken.0.load(Ordering::SeqCst) - before)
}

#[test]
fn a_future_that_wakes_itself_is_polled_again_and_wakes_nobody() {
    let mut polls = 0;
    let mut future = pin!(quiet(poll_fn(|cx| {
        polls += 1;
        if polls < 4 {
            cx.waker().wake_by_ref();
        }
        if polls == 5 { Poll::Ready(polls) } else { Poll::Pending }
    })));
    let woken = Arc::default();
    assert_eq!(poll(future.as_mut(), &woken), (Poll::Pending, 0));
    assert_eq!(poll(future.as_mut(), &woken), (Poll::Ready(5), 0));
}

#[test]
fn a_wake_up_while_it_rests_reaches_the_task_that_polled_it_last() {
    let (give, given) = std::sync::mpsc::channel();
    let mut future = pin!(quiet(poll_fn(move |cx| {
        give.send(cx.waker().clone()).unwrap();
        Poll::<()>::Pending
    })));
    let (first, second) = (Arc::default(), Arc::default());
    assert_eq!(poll(future.as_mut(), &first), (Poll::Pending, 0));
    assert_eq!(poll(future.as_mut(), &second), (Poll::Pending, 0));
    given.try_iter().last().unwrap().wake();
    assert_eq!((first.0.load(Ordering::SeqCst), second.0.load(Ordering::SeqCst)), (0, 1));
}

#[test]
fn a_wake_up_from_elsewhere_during_the_poll_is_not_lost() {
    let mut polls = 0;
    let mut future = pin!(quiet(poll_fn(|cx| {
        polls += 1;
        if polls == 1 {
            let waker = cx.waker().clone();
            std::thread::spawn(move || waker.wake()).join().unwrap();
            return Poll::Pending;
        }
        Poll::Ready(polls)
    })));
    assert_eq!(poll(future.as_mut(), &Arc::default()), (Poll::Ready(2), 0));
}

#[test]
fn what_never_rests_lets_others_have_their_turn() {
    let mut polls = 0;
    let woken = Arc::default();
    {
        let mut future = pin!(quiet(poll_fn(|cx| {
            polls += 1;
            cx.waker().wake_by_ref();
            Poll::<()>::Pending
        })));
        assert_eq!(poll(future.as_mut(), &woken), (Poll::Pending, 1));
    }
    assert_eq!(polls, ROUNDS);
}

#[tokio::test]
async fn what_has_used_up_its_budget_rests_and_goes_on() {
    // Each message takes a unit of the budget; there are more than the budget has units.
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    for number in 0..1000 {
        sender.send(number).unwrap();
    }
    drop(sender);
    let count = quiet(async {
        let mut count = 0;
        while receiver.recv().await.is_some() {
            count += 1;
        }
        count
    });
    let limit = std::time::Duration::from_secs(30);
    assert_eq!(tokio::time::timeout(limit, count).await, Ok(1000));
}
