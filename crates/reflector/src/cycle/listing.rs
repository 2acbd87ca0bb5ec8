//! LIST: page by page, and what an expired version means on which page.

use std::time::Instant;

use apimachinery::{ApiError, ListOptions, ResourceVersion};

use super::{Ask, Cycle, Next, State};
use crate::ReflectorError;
use crate::config::PAGE_SIZE;
use crate::failure::{Failure, retry_after};

/// One list, in however many pages.
#[derive(Debug)]
pub(super) struct Listing {
    started: Instant,
    /// What the first page asks for.
    version: ResourceVersion,
    limit: u32,
    /// The token of the page that is asked for; `None` for the first.
    token: Option<String>,
    /// The version of the first page is that of the whole (CACHE-R-26).
    first_page: Option<ResourceVersion>,
    pages: u32,
    objects: u64,
    /// A later page had expired, so this asks for everything at once (CACHE-R-27).
    whole: bool,
    /// The version that was asked for first could not be had (CACHE-R-28).
    second: bool,
}

/// What a page was.
#[derive(Debug, PartialEq)]
pub(crate) enum PageOutcome {
    /// The collection is complete, as of this version.
    Complete(ResourceVersion),
    /// There is more, or it failed, or nobody asked.
    Incomplete,
}

impl Cycle {
    pub(super) fn ask_list(&mut self, now: Instant, second: bool) -> Ask {
        let version = self.list_version();
        let limit = match self.config.page_size {
            Some(explicit) => explicit,
            None if self.paginated => PAGE_SIZE,
            // A limit would make the server go past its cache to the store.
            None if !version.is_empty() && version != "0" => 0,
            None => PAGE_SIZE,
        };
        self.ask_page(Listing {
            started: now,
            version,
            limit,
            token: None,
            first_page: None,
            pages: 0,
            objects: 0,
            whole: false,
            second,
        })
    }

    pub(super) fn ask_page(&mut self, listing: Listing) -> Ask {
        let mut options = ListOptions::default();
        options.limit = listing.limit;
        match &listing.token {
            // The token alone says which version is continued (CACHE-R-26).
            Some(token) => options.continue_token = Some(token.clone()),
            None => options.resource_version = listing.version.clone(),
        }
        let fresh = listing.token.is_none();
        self.counters.list_requests += 1;
        self.state = State::Listing(listing);
        Ask::List { options, fresh }
    }

    /// CACHE-R-20.
    fn list_version(&self) -> ResourceVersion {
        if self.version_unavailable {
            "".into()
        } else if !self.last_version.is_empty() {
            self.last_version.as_str().into()
        } else if self.config.most_recent_first {
            "".into()
        } else {
            "0".into()
        }
    }

    pub(crate) fn page(
        &mut self,
        now: Instant,
        version: &ResourceVersion,
        next: Option<String>,
        objects: usize,
    ) -> PageOutcome {
        let State::Listing(listing) = &mut self.state else { return PageOutcome::Incomplete };
        listing.pages = listing.pages.saturating_add(1);
        listing.objects += objects as u64;
        let whole_version = listing.first_page.get_or_insert_with(|| version.clone()).clone();
        if let Some(token) = next.filter(|token| !token.is_empty()) {
            if listing.token.as_ref() == Some(&token) {
                let what = self.what.clone();
                self.sync_failed(now, ReflectorError::SamePage { what });
                return PageOutcome::Incomplete;
            }
            listing.token = Some(token);
            if let State::Listing(listing) =
                std::mem::replace(&mut self.state, State::Asking { next: Next::Cycle, not_before: None })
            {
                self.ask_now(Next::Page(listing));
            }
            return PageOutcome::Incomplete;
        }
        // The server's cache knows no pages: if there were some, it has none (CACHE-R-29).
        if listing.version == "0" && (listing.pages > 1 || listing.whole) {
            self.paginated = true;
        }
        let (started, objects) = (listing.started, listing.objects);
        self.synced(now, whole_version.as_str(), started, objects);
        self.ask_now(Next::Watch);
        PageOutcome::Complete(whole_version)
    }

    pub(crate) fn list_failed(&mut self, now: Instant, error: ApiError) {
        let State::Listing(listing) = &mut self.state else { return };
        let failure = Failure::of(&error);
        let later_page = listing.token.is_some();
        let second = listing.second;
        if failure == Failure::Expired && later_page && !listing.whole {
            let again = Listing {
                started: listing.started,
                version: std::mem::take(&mut listing.version),
                limit: 0,
                token: None,
                first_page: None,
                pages: 0,
                objects: 0,
                whole: true,
                second,
            };
            self.tell(ReflectorError::List { what: self.what.clone(), source: error });
            return self.ask_now(Next::Page(again));
        }
        if failure.is_about_the_version() {
            self.version_unavailable = true;
            if !second {
                self.tell(ReflectorError::List { what: self.what.clone(), source: error });
                return self.ask_now(Next::List { second: true });
            }
        }
        let at_least = retry_after(&error);
        self.fail_cycle(now, ReflectorError::List { what: self.what.clone(), source: error }, at_least);
    }
}
