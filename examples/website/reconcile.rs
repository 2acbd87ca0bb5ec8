//! The reconciler: what there is, what there should be, and the difference.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use steersman::controller::helpers::{add_finalizer, conditions, remove_finalizer};
use steersman::controller::{Action, Reconciler};
use steersman::{Api, Lister, Object, ObjectKey, UpdateOptions};

use crate::api::Website;
use crate::children::{Children, address, page, servers};

/// Any error; the queue tries again, later each time.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

const FINALIZER: &str = "example.steersman.dev/cleanup";

/// Makes of each website a page, servers and an address.
pub struct WebsiteReconciler {
    pub sites: Lister<Website>,
    pub api: Api<Website>,
    pub pages: Children<ConfigMap>,
    pub servers: Children<Deployment>,
    pub addresses: Children<Service>,
}

impl Reconciler for WebsiteReconciler {
    type Error = Error;

    async fn reconcile(&self, key: &ObjectKey) -> Result<Action, Error> {
        let Some(site) = self.sites.get(key) else {
            println!("Website {key}: gone");
            return Ok(Action::AwaitChange);
        };
        if site.metadata.deletion_timestamp.is_some() {
            return self.clean_up(&site).await;
        }
        println!("Website {key}: generation {}", site.metadata.generation.unwrap_or_default());
        let mut held = Website::clone(&site);
        if add_finalizer(&mut held.metadata, FINALIZER) {
            self.api.update(&held, &UpdateOptions::default()).await?;
            return Ok(Action::AwaitChange); // our own write brings us back
        }
        let children = async {
            self.pages.ensure(&site, page(&site)).await?;
            self.servers.ensure(&site, servers(&site)).await?;
            self.addresses.ensure(&site, address(&site)).await
        };
        let outcome = children.await;
        self.report(&site, outcome.as_ref().err()).await?;
        outcome.map(|()| Action::AwaitChange)
    }
}

impl WebsiteReconciler {
    /// Deletes the children, and lets the website go once they are gone.
    async fn clean_up(&self, site: &Website) -> Result<Action, Error> {
        println!("Website {}: being deleted", site.key());
        let servers = self.servers.remove(site).await?;
        let address = self.addresses.remove(site).await?;
        let page = self.pages.remove(site).await?;
        if servers && address && page {
            let mut free = site.clone();
            if remove_finalizer(&mut free.metadata, FINALIZER) {
                self.api.update(&free, &UpdateOptions::default()).await?;
            }
        }
        // The children's deletions bring us back.
        Ok(Action::AwaitChange)
    }

    /// Says in the status how it went, if that is news.
    async fn report(&self, site: &Website, failed: Option<&Error>) -> Result<(), Error> {
        let servers = self.servers.cached.get(&site.key());
        let ready = servers.and_then(|servers| servers.status.as_ref()?.ready_replicas).unwrap_or(0);
        let generation = site.metadata.generation.unwrap_or_default();
        let (reason, message) = match failed {
            None => ("AsDesired", "page, servers and address are as they should be".to_owned()),
            Some(error) => ("ChildFailed", error.to_string()),
        };
        let mut synced =
            conditions::new("Synced", failed.is_none(), reason, &message, Time(Timestamp::now()));
        synced.observed_generation = Some(generation);
        let mut now = site.status.clone().unwrap_or_default();
        now.observed_generation = generation;
        now.ready_replicas = ready;
        conditions::set(&mut now.conditions, synced);
        if site.status.as_ref() == Some(&now) {
            return Ok(());
        }
        let mut site = site.clone();
        site.status = Some(now);
        self.api.update_status(&site, &UpdateOptions::default()).await?;
        println!("  status: {reason}, generation {generation}, {ready} ready");
        Ok(())
    }
}
