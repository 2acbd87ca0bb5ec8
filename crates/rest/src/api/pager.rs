//! Turning pages.

use std::future::Future;
use std::pin::pin;

use apimachinery::{ApiError, ListOptions, ListWatch, Page, ResourceVersion};

/// Objects a page, unless the options say otherwise (REST-PG-01).
const PAGE_SIZE: u32 = 500;

/// All pages of a list as one. Its version is that of the first page (REST-PG-03).
///
/// If the server forgets the rest of the list while pages are turned (410), the whole is asked for in one request
/// (REST-PG-05). Dropping the future ends it between or within pages.
pub async fn list_all<T>(source: &impl ListWatch<T>, options: &ListOptions) -> Result<Page<T>, ApiError> {
    let mut page_options = paged(options);
    let mut all = source.list(&page_options).await?;
    while let Some(token) = all.continue_token.take() {
        turn(&mut page_options, token);
        let page = match source.list(&page_options).await {
            Ok(page) => page,
            Err(error) if error.is_expired() => {
                let mut whole = options.clone();
                whole.limit = 0;
                whole.continue_token = None;
                return source.list(&whole).await;
            }
            Err(error) => return Err(error),
        };
        all.items.extend(page.items);
        all.undecodable.extend(page.undecodable);
        all.continue_token = page.continue_token;
        all.remaining_item_count = page.remaining_item_count;
    }
    Ok(all)
}

/// Calls `each` with one page after the other, while up to `ahead` further pages are fetched (client-go: 10).
///
/// An error of `each` ends it at once and is the answer. A refusal ends it when the pages before it have been used; there
/// is no second way for a rest that has expired, because what has been used cannot be taken back (REST-PG-06). Memory:
/// `ahead` pages and two. Dropping the future ends both.
///
/// ```no_run
/// # use k8s_openapi::api::core::v1::Pod; use apimachinery::{ApiError, ListOptions, Object};
/// # async fn example(client: steersman_rest::Client) -> Result<(), ApiError> {
/// steersman_rest::each_page(&client.all::<Pod>(), &ListOptions::default(), 10, async |page| {
///     page.items.iter().for_each(|pod| println!("{}", pod.name()));
///     Ok::<(), ApiError>(())
/// })
/// .await
/// # }
/// ```
pub async fn each_page<T, E: From<ApiError>>(
    source: &impl ListWatch<T>,
    options: &ListOptions,
    ahead: usize,
    mut each: impl AsyncFnMut(Page<T>) -> Result<(), E>,
) -> Result<(), E> {
    let (sender, mut pages) = tokio::sync::mpsc::channel(ahead.max(1));
    let fetch = async move {
        let mut options = paged(options);
        loop {
            let mut page = source.list(&options).await?;
            let token = page.continue_token.take();
            // The receiver goes only when the whole is dropped.
            if sender.send(page).await.is_err() {
                return Ok(());
            }
            let Some(token) = token else { return Ok(()) };
            turn(&mut options, token);
        }
    };
    let using = async {
        while let Some(page) = pages.recv().await {
            each(page).await?;
        }
        Ok(())
    };
    both(fetch, using).await
}

/// Runs both until `using` is done; then its error counts, or else that of `fetch`.
async fn both<E: From<ApiError>>(
    fetch: impl Future<Output = Result<(), ApiError>>,
    using: impl Future<Output = Result<(), E>>,
) -> Result<(), E> {
    let (mut fetch, mut using) = (pin!(fetch), pin!(using));
    let mut fetched = None;
    loop {
        tokio::select! {
            used = &mut using => {
                used?;
                return fetched.unwrap_or(Ok(())).map_err(E::from);
            }
            result = &mut fetch, if fetched.is_none() => fetched = Some(result),
        }
    }
}

fn paged(options: &ListOptions) -> ListOptions {
    let mut options = options.clone();
    if options.limit == 0 {
        options.limit = PAGE_SIZE;
    }
    options
}

/// Servers refuse a version together with a continue token (REST-PG-04, REST-PG-10).
fn turn(options: &mut ListOptions, token: String) {
    options.continue_token = Some(token);
    options.resource_version = ResourceVersion::default();
    options.resource_version_match = None;
}
