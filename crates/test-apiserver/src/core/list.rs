//! Lists: which version is read, and how it is cut into pages.

use std::sync::Arc;

use apimachinery::{ListOptions, ResourceVersionMatch, StatusError};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::errors::{self, FieldError};
use super::selector::Selection;
use super::{Core, ResourceInfo, Stored, Target};

/// One page of a list.
#[derive(Debug, Clone)]
pub struct ListAnswer {
    /// What was listed.
    pub resource: Arc<ResourceInfo>,
    /// In the order of namespace and name.
    pub items: Vec<Arc<Stored>>,
    /// The version of the whole list: the same on each of its pages.
    pub resource_version: u64,
    /// How to ask for the next page; none on the last.
    pub continue_token: Option<String>,
    /// How many objects are left after this page; unknown under a selector.
    pub remaining: Option<u64>,
}

impl Core {
    /// The objects of a resource, in one namespace or all. A limit with version 0 is ignored, as the watch cache does.
    pub fn list(&self, target: &Target, options: &ListOptions) -> Result<ListAnswer, StatusError> {
        let resource = self.resolve(target)?;
        check_list_options(options)?;
        let selection = Selection::parse(
            &resource,
            options.label_selector.as_deref(),
            options.field_selector.as_deref(),
        )?;
        let prefix = target.namespace.as_ref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
        let token = options.continue_token.as_deref().filter(|token| !token.is_empty());
        let asked = options.resource_version.as_str();
        let (version, start) = match token {
            Some(_) if !matches!(asked, "" | "0") => {
                return Err(errors::bad_request(
                    "specifying resource version is not allowed when using continue",
                ));
            }
            Some(token) => decode_continue(token, &prefix)?,
            None => (self.list_version(options)?, prefix.clone()),
        };
        if version > self.version {
            return Err(errors::too_large(version, self.version));
        }
        let collection = &self.collections[resource.collection.0];
        let Some(mut found) = collection.at(version, &prefix, &start) else {
            return Err(errors::expired(match token {
                Some(_) => {
                    "The provided continue parameter is too old to display a consistent list result. You must start a new \
                     list without the continue parameter."
                }
                None => "The resourceVersion for the provided list is too old.",
            }));
        };
        let limit = match options.limit {
            0 => usize::MAX,
            _ if asked == "0" && token.is_none() => usize::MAX,
            limit => usize::try_from(limit).unwrap_or(usize::MAX),
        };
        let (mut items, mut last) = (Vec::new(), None);
        for (key, object) in found.by_ref() {
            if selection.matches(&resource, object) {
                items.push(Self::served(&resource, object));
            }
            if items.len() >= limit {
                last = Some(key);
                break;
            }
        }
        let rest = if last.is_some() { found.count() as u64 } else { 0 };
        let last = last.filter(|_| rest > 0);
        Ok(ListAnswer {
            items,
            resource_version: version,
            continue_token: last
                .map(|key| encode_continue(key.strip_prefix(&prefix).unwrap_or(key), version)),
            remaining: last.filter(|_| selection.is_everything()).map(|_| rest),
            resource,
        })
    }

    /// The version that a list without a token reads: the present one, but where a past one is asked for exactly.
    fn list_version(&self, options: &ListOptions) -> Result<u64, StatusError> {
        let asked = parse_version(options.resource_version.as_str())?;
        let exact = match options.resource_version_match {
            Some(ResourceVersionMatch::Exact) => true,
            Some(ResourceVersionMatch::NotOlderThan) => false,
            None => options.limit > 0 && asked > 0,
        };
        if exact || asked > self.version { Ok(asked) } else { Ok(self.version) }
    }
}

/// A version from a query: empty and `0` are 0.
pub(crate) fn parse_version(text: &str) -> Result<u64, StatusError> {
    if text.is_empty() {
        return Ok(0);
    }
    let plain = text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    plain.ok_or_else(|| {
        let why = format!("strconv.ParseUint: parsing {text:?}: invalid syntax");
        errors::bad_request(format!("resourceVersion: Invalid value: {text:?}: {why}"))
    })
}

fn refuse(found: &[FieldError]) -> Result<(), StatusError> {
    if found.is_empty() {
        return Ok(());
    }
    Err(errors::invalid_kind("meta.k8s.io", "ListOptions", "", found))
}

fn check_list_options(options: &ListOptions) -> Result<(), StatusError> {
    let mut found = Vec::new();
    let continues = options.continue_token.as_deref().is_some_and(|token| !token.is_empty());
    if let Some(matching) = options.resource_version_match {
        let mut no = |why: &str| found.push(FieldError::forbidden("resourceVersionMatch", why));
        if options.resource_version.is_empty() {
            no("resourceVersionMatch is forbidden unless resourceVersion is provided");
        }
        if continues {
            no("resourceVersionMatch is forbidden when continue is provided");
        }
        if matching == ResourceVersionMatch::Exact && options.resource_version == "0" {
            no("resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
        }
    }
    if options.send_initial_events.is_some() {
        found.push(FieldError::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
    }
    refuse(&found)
}

pub(crate) fn check_watch_options(options: &ListOptions) -> Result<(), StatusError> {
    let mut found = Vec::new();
    let not_older = options.resource_version_match == Some(ResourceVersionMatch::NotOlderThan);
    if options.send_initial_events.is_some() && !not_older {
        let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        found.push(FieldError::forbidden("resourceVersionMatch", why));
    }
    if options.resource_version_match.is_some() {
        if options.send_initial_events.is_none() {
            let why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            found.push(FieldError::forbidden("resourceVersionMatch", why));
        }
        if !not_older {
            found.push(FieldError::not_supported("resourceVersionMatch", "Exact", &["NotOlderThan"]));
        }
        if options.continue_token.as_deref().is_some_and(|token| !token.is_empty()) {
            let why = "resourceVersionMatch is forbidden when continue is provided";
            found.push(FieldError::forbidden("resourceVersionMatch", why));
        }
    }
    refuse(&found)
}

/// The token names the version and the first key that is not yet told.
fn encode_continue(last: &str, version: u64) -> String {
    let token = json!({"v": "meta.k8s.io/v1", "rv": version, "start": format!("{last}\0")});
    BASE64_URL_SAFE_NO_PAD.encode(token.to_string())
}

fn decode_continue(token: &str, prefix: &str) -> Result<(u64, String), StatusError> {
    let refused =
        |why: &str| errors::bad_request(format!("invalid continue token: continue key is not valid: {why}"));
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(token).map_err(|_| refused("illegal base64 data"))?;
    let token: Value = serde_json::from_slice(&bytes).map_err(|_| refused("not JSON"))?;
    if token["v"] != "meta.k8s.io/v1" {
        return Err(refused("server does not recognize this encoded version"));
    }
    let start = token["start"].as_str().filter(|start| !start.is_empty());
    let start = start.ok_or_else(|| refused("encoded start key empty (version meta.k8s.io/v1)"))?;
    let version = token["rv"].as_u64().filter(|&version| version > 0);
    let version =
        version.ok_or_else(|| refused("incorrect encoded start resourceVersion (version meta.k8s.io/v1)"))?;
    Ok((version, format!("{prefix}{start}")))
}
