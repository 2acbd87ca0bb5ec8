//! Turning pages, against a source that is a list of answers.

use std::collections::VecDeque;
#[expect(clippy::disallowed_types, reason = "the diary of a fake")]
use std::sync::Mutex;

use apimachinery::{
    ApiError, ListOptions, ListWatch, Page, Reason, ResourceVersionMatch, Status, StatusError, WatchEvent,
};

use super::{each_page, list_all};

/// Answers one list after the other, and remembers what it was asked.
#[expect(clippy::disallowed_types, reason = "as above")]
struct Book {
    pages: Mutex<VecDeque<Result<Page<u32>, ApiError>>>,
    asked: Mutex<Vec<ListOptions>>,
}

impl ListWatch<u32> for Book {
    type Events = futures_util::stream::Empty<Result<WatchEvent<u32>, ApiError>>;

    async fn list(&self, options: &ListOptions) -> Result<Page<u32>, ApiError> {
        self.asked.lock().unwrap().push(options.clone());
        tokio::task::yield_now().await;
        self.pages.lock().unwrap().pop_front().expect("asked too often")
    }

    async fn watch(&self, _: &ListOptions) -> Result<Self::Events, ApiError> {
        Ok(futures_util::stream::empty())
    }

    fn describe(&self) -> String {
        "numbers".into()
    }
}

#[expect(clippy::disallowed_types, reason = "as above")]
fn book(pages: impl IntoIterator<Item = Result<Page<u32>, ApiError>>) -> Book {
    Book { pages: Mutex::new(pages.into_iter().collect()), asked: Mutex::default() }
}

#[expect(clippy::unnecessary_wraps, reason = "one of two kinds of answers")]
fn page(items: &[u32], version: &str, next: Option<&str>) -> Result<Page<u32>, ApiError> {
    Ok(Page {
        items: items.to_vec(),
        undecodable: Vec::new(),
        resource_version: version.into(),
        continue_token: next.map(str::to_owned),
        remaining_item_count: None,
    })
}

fn refused(reason: Reason, code: u16) -> Result<Page<u32>, ApiError> {
    Err(StatusError::new(Status::failure(reason, code, "no")).into())
}

fn at_least_seven() -> ListOptions {
    let mut options = ListOptions::default();
    options.resource_version = "7".into();
    options.resource_version_match = Some(ResourceVersionMatch::NotOlderThan);
    options
}

// REST-PG-01, REST-PG-02
#[tokio::test]
async fn a_single_page_is_the_answer_as_it_came() {
    let source = book([page(&[1, 2], "9", None)]);
    let all = list_all(&source, &at_least_seven()).await.unwrap();
    assert_eq!((all.items, all.resource_version.as_str()), (vec![1, 2], "9"));
    assert_eq!(source.asked.lock().unwrap().iter().map(|options| options.limit).collect::<Vec<_>>(), [500]);

    let source = book([page(&[], "9", None)]);
    let mut options = ListOptions::default();
    options.limit = 3;
    assert!(list_all(&source, &options).await.unwrap().items.is_empty());
    assert_eq!(source.asked.lock().unwrap()[0].limit, 3, "a limit that is set is left alone");
}

// REST-PG-03, REST-PG-04, REST-PG-09
#[tokio::test]
async fn only_the_token_decides_whether_there_is_more() {
    let source = book([page(&[1], "9", Some("a")), page(&[], "10", Some("b")), page(&[2, 3], "11", None)]);
    let all = list_all(&source, &at_least_seven()).await.unwrap();
    assert_eq!((all.items, all.resource_version.as_str()), (vec![1, 2, 3], "9"));
    let asked = source.asked.lock().unwrap();
    let tokens: Vec<Option<&str>> = asked.iter().map(|options| options.continue_token.as_deref()).collect();
    assert_eq!(tokens, [None, Some("a"), Some("b")]);
    assert_eq!(asked[0].resource_version, "7");
    for later in &asked[1..] {
        assert!(later.resource_version.is_empty() && later.resource_version_match.is_none());
        assert_eq!(later.limit, 500);
    }
}

// REST-PG-05
#[tokio::test]
async fn a_rest_that_has_expired_is_asked_for_as_a_whole_with_what_was_asked_at_first() {
    let source = book([page(&[1], "9", Some("a")), refused(Reason::Expired, 410), page(&[1, 2], "12", None)]);
    let all = list_all(&source, &at_least_seven()).await.unwrap();
    assert_eq!((all.items, all.resource_version.as_str()), (vec![1, 2], "12"));
    let asked = source.asked.lock().unwrap();
    assert_eq!(asked[2], at_least_seven(), "no limit, no token, version and match as given");
}

// REST-PG-05
#[tokio::test]
async fn the_first_page_and_other_refusals_have_no_second_way() {
    let source = book([refused(Reason::Expired, 410)]);
    assert!(list_all(&source, &at_least_seven()).await.unwrap_err().is_expired());
    let source = book([page(&[1], "9", Some("a")), refused(Reason::InternalError, 500)]);
    assert_eq!(list_all(&source, &at_least_seven()).await.unwrap_err().status().unwrap().code(), 500);
}

// REST-PG-07
#[tokio::test]
async fn no_page_is_asked_for_after_the_caller_has_gone() {
    use std::task::{Context, Waker};
    let source = book([page(&[1], "9", Some("a")), page(&[2], "9", None)]);
    let options = ListOptions::default();
    let mut listing = Box::pin(list_all(&source, &options));
    assert!(source.asked.lock().unwrap().is_empty(), "nothing is asked before the future is polled");
    let mut cx = Context::from_waker(Waker::noop());
    assert!(listing.as_mut().poll(&mut cx).is_pending());
    assert_eq!(source.asked.lock().unwrap().len(), 1);
    assert!(listing.as_mut().poll(&mut cx).is_pending());
    drop(listing);
    assert_eq!(source.asked.lock().unwrap().len(), 2, "the page that was being read, and no other");
}

// REST-PG-06, REST-PG-10
#[tokio::test]
async fn each_page_is_used_in_order_and_asked_for_without_the_version() {
    let source = book([page(&[1], "9", Some("a")), page(&[], "10", Some("b")), page(&[2, 3], "11", None)]);
    let (mut used, options) = (Vec::new(), at_least_seven());
    let answer = each_page(&source, &options, 10, async |page| {
        used.extend(page.items);
        Ok::<(), ApiError>(())
    });
    answer.await.unwrap();
    assert_eq!(used, [1, 2, 3]);
    let asked = source.asked.lock().unwrap();
    assert_eq!(asked[0].resource_version, "7");
    assert!(asked[1..].iter().all(|options| options.resource_version.is_empty()));
    assert!(asked[1..].iter().all(|options| options.resource_version_match.is_none()));
}

// REST-PG-01, REST-PG-06
#[tokio::test]
async fn pages_are_fetched_ahead_and_no_further() {
    for ahead in [1, 3] {
        let source = book((0..9).map(|n| page(&[n], "9", (n < 8).then_some("t"))));
        let options = ListOptions::default();
        let gate = tokio::sync::Semaphore::new(0);
        let mut listing = Box::pin(each_page(&source, &options, ahead, async |_| {
            gate.acquire().await.unwrap().forget();
            Ok::<(), ApiError>(())
        }));
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        for _ in 0..100 {
            assert!(listing.as_mut().poll(&mut cx).is_pending());
        }
        // One in use, `ahead` waiting, one that has no place yet.
        assert_eq!(source.asked.lock().unwrap().len(), ahead + 2);
        gate.add_permits(9);
        listing.await.unwrap();
        assert_eq!(source.asked.lock().unwrap().len(), 9);
    }
}

// REST-PG-06
#[tokio::test]
async fn the_first_error_ends_it_and_an_expired_rest_is_not_asked_for_again() {
    let source = book([page(&[1], "9", Some("a")), refused(Reason::Expired, 410)]);
    let (mut used, options) = (Vec::new(), at_least_seven());
    let answer = each_page(&source, &options, 10, async |page| {
        used.extend(page.items);
        Ok::<(), ApiError>(())
    });
    assert!(answer.await.unwrap_err().is_expired());
    assert_eq!(used, [1], "what came before is used");
    assert_eq!(source.asked.lock().unwrap().len(), 2);

    let source = book((0..9).map(|n| page(&[n], "9", (n < 8).then_some("t"))));
    let answer: Result<(), ApiError> = each_page(&source, &at_least_seven(), 1, async |page| {
        if page.items == [2] { Err(ApiError::InvalidRequest("enough".into())) } else { Ok(()) }
    })
    .await;
    assert_eq!(answer.unwrap_err().to_string(), "invalid request: enough");
    assert!(source.asked.lock().unwrap().len() <= 5);
}
