//! The kept forms, and the informer that all measurements begin with.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use serde::Deserialize;
use serde_json::Value;
use steersman::{Decode, Head, Kind, Lazy, Object, PartialObjectMetadata, SharedInformer};

use crate::args::{Args, refuse};

/// The annotation that says when the server sent an event.
const SENT_AT: &str = "measure.local/sent-at-ns";

/// A kept form that can tell when the event that brought it was sent.
pub(crate) trait Kept: Object + Decode + Kind {
    /// Nanoseconds since the epoch; 0 if the form does not keep it.
    fn sent_at_ns(&self) -> u64;
}

fn parse(annotations: Option<&BTreeMap<String, String>>) -> u64 {
    annotations.and_then(|all| all.get(SENT_AT)?.parse().ok()).unwrap_or(0)
}

impl Kept for Pod {
    fn sent_at_ns(&self) -> u64 {
        parse(self.metadata.annotations.as_ref())
    }
}

impl Kept for PartialObjectMetadata<Pod> {
    fn sent_at_ns(&self) -> u64 {
        parse(self.metadata.annotations.as_ref())
    }
}

/// Looked up in the text: parsing the object once more to read one annotation would cost as much as all the rest.
impl Kept for Lazy<Pod> {
    fn sent_at_ns(&self) -> u64 {
        let text = std::str::from_utf8(self.body()).unwrap_or_default();
        let Some((_, behind)) = text.split_once(SENT_AT) else { return 0 };
        let digits = behind.trim_start_matches(['"', ':']);
        digits.split_once('"').and_then(|(digits, _)| digits.parse().ok()).unwrap_or(0)
    }
}

/// What a small controller of pods reads: who, where, and in which phase.
#[derive(Deserialize)]
#[expect(dead_code, reason = "what it weighs is measured; nobody reads it here")]
pub(crate) struct SlimPod {
    metadata: Head,
    #[serde(default)]
    spec: SlimSpec,
    #[serde(default)]
    status: SlimStatus,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct SlimSpec {
    node_name: Option<Box<str>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct SlimStatus {
    phase: Option<Box<str>>,
}

steersman::object!(SlimPod, "v1", "Pod", "pods", Namespaced);

impl Kept for SlimPod {
    fn sent_at_ns(&self) -> u64 {
        0 // its annotations are not kept
    }
}

/// A measurement that works for every kept form.
pub(crate) trait Measure {
    async fn run<T: Kept>(self, args: &Args) -> Value;
}

/// Runs `measure` with the form that `--keep` names.
pub(crate) async fn dispatch(args: &Args, measure: impl Measure) -> Value {
    match args.get("keep").unwrap_or("pod") {
        "pod" => measure.run::<Pod>(args).await,
        "lazy" => measure.run::<Lazy<Pod>>(args).await,
        "metadata" => measure.run::<PartialObjectMetadata<Pod>>(args).await,
        "slim" => measure.run::<SlimPod>(args).await,
        form => refuse(&format!("--keep {form}")),
    }
}

/// The informer as the arguments ask.
pub(crate) fn informer<T: Kept>(args: &Args) -> SharedInformer<T> {
    let mut api = args.client().all::<T>();
    if args.get("drop-managed-fields").is_some() {
        api = api.without_managed_fields();
    }
    let mut config = steersman::reflector::Config::default();
    match args.get("strategy") {
        Some("stream") => {}
        Some("list") | None => config.watch_list = false,
        Some(strategy) => refuse(&format!("--strategy {strategy}")),
    }
    if let Some(size) = args.number("page-size") {
        config.page_size = Some(size).filter(|size| *size > 0);
    }
    SharedInformer::builder(api).config(config).build()
}
