//! A controller end to end: a site owns a config map that says its title.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};
use steersman::controller::helpers::{is_controlled_by, set_controller_reference};
use steersman::controller::{Action, Controller, ControllerError, Handle, Reconciler};
use steersman::{
    Api, ApiError, DeleteOptions, GetOptions, Informers, Lister, Object, ObjectKey, Patch, PatchOptions,
    UpdateOptions,
};
use test_apiserver::faults::{Fault, Verb, When};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::site::{Site, SiteStatus, define, site};
use crate::world::{WIRES, Wire, World, chain, until, within};

/// Makes a config map of each site, and says in the status that it is there.
struct Pages {
    sites: Lister<Site>,
    maps: Lister<ConfigMap>,
    site_api: Api<Site>,
    map_api: Api<ConfigMap>,
    /// So many rounds panic first.
    panics: Arc<AtomicU32>,
}

impl Reconciler for Pages {
    type Error = Box<dyn std::error::Error + Send + Sync>;

    async fn reconcile(&self, key: &ObjectKey) -> Result<Action, Self::Error> {
        let fewer =
            self.panics.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        assert!(fewer.is_err(), "a planned panic");
        let Some(site) = self.sites.get(key) else { return Ok(Action::AwaitChange) };
        let mut page = ConfigMap::default();
        page.metadata.name = Some(site.name().to_owned());
        page.metadata.namespace = Some(site.namespace().to_owned());
        page.data = Some([("title".to_owned(), site.spec.title.clone())].into());
        set_controller_reference(&*site, &mut page.metadata)?;
        let is_there = |map: &ConfigMap| map.data == page.data && is_controlled_by(map, &*site);
        if !self.maps.get(key).is_some_and(|map| is_there(&map)) {
            let options = PatchOptions::apply("pages").force();
            self.map_api.patch(key, None, &Patch::apply(&page)?, &options).await?;
        }
        if site.status != Some(SiteStatus { ready: true }) {
            let mut site = Site::clone(&site);
            site.status = Some(SiteStatus { ready: true });
            self.site_api.update_status(&site, &UpdateOptions::default()).await?;
        }
        Ok(Action::AwaitChange)
    }
}

/// A controller that runs, and what it runs against.
struct Running {
    world: World,
    handle: Handle,
    panics: Arc<AtomicU32>,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<Result<(), ControllerError>>,
}

impl Running {
    async fn start(wire: Wire) -> Self {
        let world = World::start(wire).await;
        define(&world.server);
        Self::over(world)
    }

    fn over(world: World) -> Self {
        let informers = Informers::new(&world.client);
        let (sites, maps) = (informers.of::<Site>(), informers.of::<ConfigMap>());
        let panics = Arc::new(AtomicU32::new(0));
        let reconciler = Pages {
            sites: sites.lister(),
            maps: maps.lister(),
            site_api: world.client.all(),
            map_api: world.client.all(),
            panics: panics.clone(),
        };
        let controller = Controller::new("pages").watches(sites).owns(maps).workers(2);
        let handle = controller.handle();
        let (stop, stopped) = oneshot::channel();
        let shutdown = async move {
            // An error is the end of the test.
            let _ = stopped.await;
        };
        let task = tokio::spawn(controller.run(reconciler, shutdown));
        Self { world, handle, panics, stop: Some(stop), task }
    }

    /// The title on the page of a site, as the server has it.
    fn title(&self, name: &str) -> Option<String> {
        let target = test_apiserver::core::Target::new("v1", "configmaps").namespaced("default");
        let map = self.world.server.with_core(|core| core.get(&target, name, &GetOptions::default())).ok()?;
        map.value()["data"]["title"].as_str().map(str::to_owned)
    }

    async fn shows(&self, name: &str, title: &str) {
        until(&format!("the page of {name} says {title}"), || self.title(name).as_deref() == Some(title))
            .await;
    }

    async fn rests(&self) {
        until("nothing is left to do", || {
            let queue = self.handle.queue();
            (queue.queued, queue.waiting, queue.processing) == (0, 0, 0) && self.handle.stats().active == 0
        })
        .await;
    }

    async fn stop(mut self) -> World {
        self.stop.take().expect("not stopped yet").send(()).expect("it runs");
        within("it stops", self.task).await.expect("no panic").expect("in order");
        self.world
    }
}

async fn merge<T: Object + steersman::Decode + steersman::Kind>(world: &World, name: &str, patch: Value) {
    let api = world.client.namespaced::<T>("default");
    let key = ObjectKey::new("default", name);
    api.patch(&key, None, &Patch::Merge(patch), &PatchOptions::default()).await.expect("patched");
}

// CTRL-01, CTRL-03, CT-02, CT-07, UTIL-01
#[tokio::test]
async fn a_site_gets_its_page_keeps_it_and_takes_it_along() {
    for wire in WIRES {
        let running = Running::start(wire).await;
        running.world.server.create(site("early", "Early")).expect("created");
        running.shows("early", "Early").await;
        running.world.server.create(site("late", "Late")).expect("created");
        running.shows("late", "Late").await;
        // Drift is repaired: changed by hand, deleted by hand.
        merge::<ConfigMap>(&running.world, "early", json!({ "data": { "title": "Drift" } })).await;
        running.shows("early", "Early").await;
        let maps = running.world.client.namespaced::<ConfigMap>("default");
        let key = ObjectKey::new("default", "late");
        maps.delete(&key, &DeleteOptions::default()).await.expect("deleted");
        running.shows("late", "Late").await;
        // What is wanted changes.
        merge::<Site>(&running.world, "early", json!({ "spec": { "title": "Another" } })).await;
        running.shows("early", "Another").await;
        // Somebody else's config map concerns nobody.
        running.rests().await;
        let before = running.handle.stats().succeeded;
        running.world.map("foreign");
        let sites = running.world.client.namespaced::<Site>("default");
        sites.delete(&key, &DeleteOptions::default()).await.expect("deleted");
        until("its page goes with it", || running.title("late").is_none()).await;
        running.rests().await;
        let rounds = running.handle.stats().succeeded - before;
        assert!(rounds <= 2, "{wire:?}: {rounds} rounds for a site that went and a page that went with it");
        let read =
            sites.get(&ObjectKey::new("default", "early"), &GetOptions::default()).await.expect("there");
        assert_eq!(read.status, Some(SiteStatus { ready: true }), "{wire:?}");
        running.stop().await;
    }
}

// CTRL-06, CT-03
#[tokio::test]
async fn a_write_that_fails_is_tried_again_until_it_is_taken() {
    for wire in WIRES {
        for fault in [Fault::refuse(500), Fault::refuse(409), Fault::refuse(403), Fault::Close] {
            let running = Running::start(wire).await;
            let path = "/api/v1/namespaces/default/configmaps/blog";
            running.world.plan(When::verb(Verb::Patch).path(path).times(3), fault.clone());
            running.world.server.create(site("blog", "A blog")).expect("created");
            running.shows("blog", "A blog").await;
            running.rests().await;
            let stats = running.handle.stats();
            assert_eq!(stats.failed, 3, "{wire:?} {fault:?}: {stats:?}");
            let key = ObjectKey::new("default", "blog");
            assert_eq!(running.handle.failures(&key), 0, "{wire:?} {fault:?}: success makes it forget");
            running.stop().await;
        }
    }
}

// CTRL-13
#[tokio::test]
async fn a_reconciler_that_panics_is_called_again_and_takes_nobody_with_it() {
    let running = Running::start(Wire::Http2).await;
    running.panics.store(3, Ordering::Relaxed);
    running.world.server.create(site("blog", "A blog")).expect("created");
    running.shows("blog", "A blog").await;
    running.rests().await;
    assert_eq!(running.handle.stats().panicked, 3);
    running.stop().await;
}

// CTRL-19, CT-05
#[tokio::test]
async fn when_a_controller_has_stopped_nothing_of_it_is_left() {
    for wire in WIRES {
        let before = tokio::runtime::Handle::current().metrics().num_alive_tasks();
        let running = Running::start(wire).await;
        running.world.server.create(site("blog", "A blog")).expect("created");
        running.shows("blog", "A blog").await;
        running.world.watches(2).await;
        let world = running.stop().await;
        world.watches(0).await;
        let World { server, client } = world;
        drop(client);
        until("only accepting and keeping time are left", || server.tasks() == 2).await;
        within("the server stops", server.stop()).await;
        let alive = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
        until("no task is left", || alive() == before).await;
    }
}

// CTRL-04, CT-03
#[tokio::test]
async fn a_controller_without_its_resource_reconciles_nothing_and_says_what_is_missing() {
    let world = World::start(Wire::Http2).await; // sites are not defined
    let sites = Informers::new(&world.client).of::<Site>();
    let calls = Arc::new(AtomicU32::new(0));
    let counted = calls.clone();
    let reconciler = steersman::controller::reconcile_fn(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        async { Ok::<_, ApiError>(Action::AwaitChange) }
    });
    let controller =
        Controller::new("pages").watches(sites).sync_timeout(std::time::Duration::from_millis(200));
    let failed =
        within("an end", controller.run(reconciler, std::future::pending())).await.expect_err("no sites");
    assert!(matches!(failed, ControllerError::NotSynced { .. }), "{failed:?}");
    assert!(chain(&failed).contains("sites.example.com"), "{}", chain(&failed));
    assert_eq!(calls.load(Ordering::Relaxed), 0);
}

// CTRL-19, CT-05
#[tokio::test]
async fn a_controller_stops_while_its_server_is_down() {
    for wire in WIRES {
        let mut running = Running::start(wire).await;
        running.world.server.create(site("blog", "A blog")).expect("created");
        running.shows("blog", "A blog").await;
        running.rests().await;
        within("the server stops", running.world.server.stop()).await;
        running.handle.trigger(ObjectKey::new("default", "blog"));
        running.stop.take().expect("not stopped yet").send(()).expect("it runs");
        within("it stops", running.task).await.expect("no panic").expect("in order");
    }
}
