//! A custom resource that appears, changes and goes.

use serde_json::json;
use steersman::{
    Api, ApiResource, CreateOptions, DeleteOptions, DynamicObject, Object, Patch, PatchOptions, Scope,
    SharedInformer,
};

use crate::client;
use crate::world::{run, until};

fn definition(column: &str) -> serde_json::Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "gadgets.real.steersman.dev" },
        "spec": {
            "group": "real.steersman.dev",
            "scope": "Cluster",
            "names": { "kind": "Gadget", "plural": "gadgets", "singular": "gadget", "listKind": "GadgetList" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": {
                    "type": "object",
                    "properties": { "spec": { "type": "object", "properties": { column: { "type": "string" } } } },
                } },
            }],
        },
    })
}

// CACHE-N-01, REST-DY-01, REST-DY-02
#[test]
#[ignore = "needs a real control plane: tests/real/run"]
fn a_resource_that_appears_changes_and_goes_is_followed() {
    run(async {
        let admin = client("admin").await;
        let resource = ApiResource::new("real.steersman.dev/v1", "Gadget", "gadgets", Scope::Cluster);
        let gadgets: Api<DynamicObject> = admin.all_of(resource.clone());
        let informer = SharedInformer::new(gadgets.clone());
        let running = tokio::spawn(informer.run(std::future::pending()));
        // It is not there yet: said by name, and tried again.
        let why = informer.synced().await.expect_err("there is no such resource yet");
        assert!(why.api_error().is_some_and(steersman::ApiError::is_not_found), "{why:?}");

        let kinds = ApiResource::new(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            "customresourcedefinitions",
            Scope::Cluster,
        );
        let definitions: Api<DynamicObject> = admin.all_of(kinds);
        let parse = |value| serde_json::from_value::<DynamicObject>(value).expect("an object");
        let made = definitions.create(&parse(definition("colour")), &CreateOptions::default()).await;
        let key = made.expect("created").key();
        until("the resource is served and synced", || async { informer.is_synced() }).await;

        let gadget = parse(json!({
            "apiVersion": "real.steersman.dev/v1", "kind": "Gadget",
            "metadata": { "name": "one" }, "spec": { "colour": "red", "size": "large" },
        }));
        let options = CreateOptions::default();
        until("a gadget is accepted", || async { gadgets.create(&gadget, &options).await.is_ok() }).await;
        let lister = informer.lister();
        until("the gadget is cached", || async { lister.get("one").is_some() }).await;
        let one = lister.get("one").expect("it is there");
        assert_eq!(one.pointer("/spec/colour"), Some(&json!("red")));
        assert_eq!(one.pointer("/spec/size"), None, "the server drops what the schema does not know");

        let both = Patch::merge(&json!({ "spec": { "versions": [{
            "name": "v1", "served": true, "storage": true,
            "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": {
                "type": "object",
                "properties": { "colour": { "type": "string" }, "size": { "type": "string" } },
            } } } },
        }] } }));
        let changed = definitions.patch(&key, None, &both.expect("JSON"), &PatchOptions::default()).await;
        changed.expect("the definition changes");
        // A write at the moment of the change may still be shown to watchers as the old schema has it, and its version is
        // then seen: so each try is a new write.
        let mut tries = 0;
        until("the new field is kept and seen", || {
            tries += 1;
            let size = Patch::merge(&json!({ "spec": { "size": format!("large-{tries}") } })).expect("JSON");
            let (gadgets, lister, key) = (&gadgets, &lister, one.key());
            async move {
                let patched = gadgets.patch(&key, None, &size, &PatchOptions::default()).await;
                patched.is_ok() && lister.get("one").is_some_and(|one| one.pointer("/spec/size").is_some())
            }
        })
        .await;

        definitions.delete(&key, &DeleteOptions::default()).await.expect("deleted");
        until("its objects go with it", || async { lister.is_empty() }).await;
        running.abort();
    });
}
