//! What is logged of a reconcile.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use common::{Cluster, config_map, until};
use steersman_controller::{Action, Controller, reconcile_fn};
use tokio::sync::mpsc;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

type Fields = BTreeMap<&'static str, String>;

/// Tells the fields of each span named `reconcile`.
struct Spans {
    next: AtomicU64,
    seen: mpsc::UnboundedSender<Fields>,
}

struct Reader<'a>(&'a mut Fields);

impl Visit for Reader<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span()
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        if span.metadata().name() == "reconcile" {
            let mut fields = Fields::new();
            span.record(&mut Reader(&mut fields));
            self.seen.send(fields).unwrap_or(());
        }
        Id::from_u64(self.next.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}
    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}
    fn event(&self, _event: &Event<'_>) {}
    fn enter(&self, _span: &Id) {}
    fn exit(&self, _span: &Id) {}
}

// CTRL-15: all but group and kind, which a controller of several kinds does not have.
#[tokio::test(start_paused = true)]
async fn each_reconcile_has_a_span_of_its_own_that_names_it() {
    let (seen, mut spans) = mpsc::unbounded_channel();
    let guard = tracing::subscriber::set_default(Spans { next: AtomicU64::new(0), seen });
    let maps = Cluster::new();
    for name in ["a", "b", "c"] {
        maps.put(config_map(&format!("default/{name}")));
    }
    let controller = Controller::new("counts").watches(maps.informer());
    let handle = Arc::new(controller.handle());
    let looks = handle.clone();
    let done = async move { until("all were reconciled", || looks.stats().succeeded == 3).await };
    controller
        .run(reconcile_fn(|_key| async { Ok::<_, Infallible>(Action::AwaitChange) }), done)
        .await
        .unwrap();
    drop(guard);
    let (mut ids, mut names) = (BTreeSet::new(), BTreeSet::new());
    while let Some(fields) = spans.recv().await {
        assert_eq!((&*fields["controller"], &*fields["namespace"]), ("counts", "default"));
        names.insert(fields["name"].clone());
        assert_eq!(fields["reconcileID"].len(), 36, "a UUID");
        ids.insert(fields["reconcileID"].clone());
    }
    assert_eq!(names.into_iter().collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(ids.len(), 3, "no two reconciles share an id");
}
