//! What a website is made of, and how one child is brought to what it should be.

use std::collections::BTreeMap;

use k8s_openapi::Metadata;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use steersman::controller::helpers::{has_owner, is_controlled_by, set_controller_reference};
use steersman::{Api, Decode, DeleteOptions, Kind, Lister, Object, Patch, PatchOptions};

use crate::api::Website;
use crate::reconcile::Error;

/// The field manager of all that we write.
pub const MANAGER: &str = "website-controller";

/// One kind of child: what is cached of it, and where it is written.
pub struct Children<T: Object> {
    pub cached: Lister<T>,
    pub api: Api<T>,
}

impl<T> Children<T>
where
    T: Object + Decode + Kind + Metadata<Ty = ObjectMeta> + Serialize + DeserializeOwned,
{
    /// Makes the child of `site` what `desired` says; sends nothing if it is that already.
    pub async fn ensure(&self, site: &Website, desired: Value) -> Result<(), Error> {
        let mut child: T = serde_json::from_value(desired)?;
        set_controller_reference(site, child.metadata_mut())?;
        let key = child.key();
        let desired = serde_json::to_value(&child)?;
        let done = match self.cached.get(&key) {
            None => "created",
            Some(actual) if !has_owner(site, actual.metadata()) => {
                // What somebody else controls is not ours to take: the error names who.
                set_controller_reference(site, &mut actual.metadata().clone())?;
                "adopted"
            }
            Some(actual) if covers(&serde_json::to_value(&*actual)?, &desired) => return Ok(()),
            Some(_) => "repaired",
        };
        let options = PatchOptions::apply(MANAGER).force();
        self.api.patch(&key, None, &Patch::Apply(desired), &options).await?;
        println!("  {} {key}: {done}", T::resource().kind);
        Ok(())
    }

    /// Deletes the child of `site`; `true` once it is gone.
    pub async fn remove(&self, site: &Website) -> Result<bool, Error> {
        let key = site.key();
        match self.cached.get(&key) {
            Some(child) if is_controlled_by(&*child, site) => {
                match self.api.delete(&key, &DeleteOptions::default()).await {
                    Ok(()) => println!("  {} {key}: deleted", T::resource().kind),
                    Err(error) if error.is_not_found() => {}
                    Err(error) => return Err(error.into()),
                }
                Ok(false)
            }
            _ => Ok(true),
        }
    }
}

/// Whether `actual` has all that `desired` says. What others added, defaults above all, does not matter.
fn covers(actual: &Value, desired: &Value) -> bool {
    match (actual, desired) {
        (Value::Object(actual), Value::Object(desired)) => {
            desired.iter().all(|(name, value)| actual.get(name).is_some_and(|actual| covers(actual, value)))
        }
        (Value::Array(actual), Value::Array(desired)) => {
            actual.len() == desired.len()
                && actual.iter().zip(desired).all(|(actual, desired)| covers(actual, desired))
        }
        _ => actual == desired,
    }
}

fn metadata(site: &Website) -> Value {
    json!({ "name": site.name(), "namespace": site.namespace(), "labels": labels(site) })
}

fn labels(site: &Website) -> BTreeMap<&str, &str> {
    BTreeMap::from([("app.kubernetes.io/name", "website"), ("app.kubernetes.io/instance", site.name())])
}

/// The page itself.
pub fn page(site: &Website) -> Value {
    json!({ "metadata": metadata(site), "data": { "index.html": site.spec.html } })
}

/// The servers that serve it.
pub fn servers(site: &Website) -> Value {
    let pod = json!({
        "containers": [{
            "name": "web",
            "image": "nginx:1.29-alpine",
            "ports": [{ "containerPort": 80, "protocol": "TCP" }],
            "volumeMounts": [{ "name": "page", "mountPath": "/usr/share/nginx/html" }],
        }],
        "volumes": [{ "name": "page", "configMap": { "name": site.name() } }],
    });
    let spec = json!({
        "replicas": site.spec.replicas,
        "selector": { "matchLabels": labels(site) },
        "template": { "metadata": { "labels": labels(site) }, "spec": pod },
    });
    json!({ "metadata": metadata(site), "spec": spec })
}

/// The address under which they are reached.
pub fn address(site: &Website) -> Value {
    let spec = json!({
        "selector": labels(site),
        "ports": [{ "port": 80, "targetPort": 80, "protocol": "TCP" }],
    });
    json!({ "metadata": metadata(site), "spec": spec })
}
