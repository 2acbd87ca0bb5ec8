//! Turning pages.

use apimachinery::{ApiError, ListOptions, ListWatch, Page, ResourceVersion};

/// Objects a page, unless the options say otherwise (REST-PG-01).
const PAGE_SIZE: u32 = 500;

/// All pages of a list as one. Its version is that of the first page (REST-PG-03).
///
/// If the server forgets the rest of the list while pages are turned (410), the whole is asked for in one request
/// (REST-PG-05). Dropping the future ends it between or within pages.
pub async fn list_all<T>(source: &impl ListWatch<T>, options: &ListOptions) -> Result<Page<T>, ApiError> {
    let mut page_options = options.clone();
    if page_options.limit == 0 {
        page_options.limit = PAGE_SIZE;
    }
    let mut all = source.list(&page_options).await?;
    while let Some(token) = all.continue_token.take() {
        page_options.continue_token = Some(token);
        // Servers refuse these together with a continue token (REST-PG-04).
        page_options.resource_version = ResourceVersion::default();
        page_options.resource_version_match = None;
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
