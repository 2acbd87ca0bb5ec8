//! The main example's controller on a real cluster, with kubectl as the user.

use std::process::Stdio;

use tokio::process::{Child, Command};

use crate::world::{kubectl, run, until, world};

/// The example, as its user starts it.
async fn start() -> Child {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ is in the workspace");
    Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--example", "website", "--", "--context", "admin", "--kubeconfig"])
        .arg(&world().await.kubeconfig)
        .current_dir(root)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("the example starts")
}

async fn get(what: &[&str], path: &str) -> String {
    let mut arguments = vec!["get", "--ignore-not-found", "--output"];
    let output = format!("jsonpath={path}");
    arguments.push(&output);
    arguments.extend(what);
    kubectl(&arguments).await
}

async fn becomes(what: &[&str], path: &str, wanted: &str) {
    until(&format!("{what:?} {path} is {wanted}"), || async { get(what, path).await == wanted }).await;
}

// CTRL-01, CTRL-03
#[test]
#[ignore = "needs a real control plane: tests/real/run"]
fn the_main_example_makes_repairs_reports_and_cleans_up() {
    run(async {
        let mut example = start().await;
        // It compiles first, perhaps; then the definition, the sample and the children.
        until("the example is at work", || async {
            !get(&["crd", "websites.example.steersman.dev"], "{.metadata.uid}").await.is_empty()
        })
        .await;
        let site = &["website", "hello"];
        until("the website is reported on", || async {
            get(site, "{.status.conditions[?(@.type==\"Synced\")].status}").await == "True"
        })
        .await;
        becomes(site, "{.status.observedGeneration}", "1").await;
        becomes(&["deployment", "hello"], "{.spec.replicas}", "2").await;
        becomes(&["configmap", "hello"], "{.data.index\\.html}", "<h1>Hello</h1>").await;
        becomes(&["service", "hello"], "{.metadata.ownerReferences[0].kind}", "Website").await;
        // The controller manager sees a deployment that it can work with.
        becomes(&["deployment", "hello"], "{.status.observedGeneration}", "1").await;

        kubectl(&["scale", "deployment", "hello", "--replicas", "7"]).await;
        becomes(&["deployment", "hello"], "{.spec.replicas}", "2").await;
        kubectl(&["delete", "service", "hello"]).await;
        becomes(&["service", "hello"], "{.metadata.ownerReferences[0].name}", "hello").await;

        kubectl(&["patch", "website", "hello", "--type", "merge", "--patch", "{\"spec\":{\"replicas\":3}}"])
            .await;
        becomes(&["deployment", "hello"], "{.spec.replicas}", "3").await;
        becomes(site, "{.status.observedGeneration}", "2").await;

        kubectl(&["delete", "website", "hello", "--timeout", "60s"]).await;
        becomes(
            &["deployment,service,configmap", "--selector", "app.kubernetes.io/instance=hello"],
            "{.items[*].metadata.name}",
            "",
        )
        .await;

        // SIGTERM ends it in order.
        let pid = nix::unistd::Pid::from_raw(example.id().expect("it runs").try_into().expect("a pid"));
        // `cargo run` hands the program over on Unix, so this is the example itself.
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).expect("it can be told");
        let status =
            tokio::time::timeout(crate::world::PATIENCE, example.wait()).await.expect("it ends in time");
        assert!(status.expect("its end is seen").success(), "it ends in order");
        kubectl(&["delete", "crd", "websites.example.steersman.dev"]).await;
    });
}
