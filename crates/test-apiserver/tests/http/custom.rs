use serde_json::json;
use steersman_test_apiserver::{Options, TestApiServer};

use crate::client::{Client, Protocol, within};

#[tokio::test]
async fn a_custom_resource_has_the_columns_of_its_definition() {
    let server = within(TestApiServer::start(Options::default())).await.expect("the server starts");
    server
        .create(json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": "cats.example.com" },
            "spec": {
                "group": "example.com", "scope": "Namespaced",
                "names": { "plural": "cats", "singular": "cat", "kind": "Cat", "listKind": "CatList" },
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
                    "additionalPrinterColumns": [
                        { "name": "Colour", "type": "string", "jsonPath": ".spec.colour" },
                        { "name": "Lives", "type": "integer", "jsonPath": ".spec.lives", "priority": 1 },
                    ],
                }],
            },
        }))
        .expect("created");
    let cat = json!({ "apiVersion": "example.com/v1", "kind": "Cat", "metadata": { "name": "tom" },
        "spec": { "colour": "grey", "lives": 9 } });
    server.create(cat).expect("created");
    let mut client = Client::admin(&server, Protocol::Http1).await;
    let table = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    let path = "/apis/example.com/v1/namespaces/default/cats";
    let (_, rows) = client.json("GET", path, &table, "").await;
    assert_eq!(rows["rows"][0]["cells"], json!(["tom", "grey", 9]));
    assert_eq!(rows["columnDefinitions"][2]["priority"], json!(1));
    let (_, list) = client.get(path).await;
    assert_eq!(list["items"][0]["kind"], json!("Cat"), "items of custom resources keep their kind");
}
