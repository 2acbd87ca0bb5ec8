//! Finalizers, owner references, conditions.

mod common;

use common::{meta, owner, replica_set};
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta, Time};
use k8s_openapi::jiff::Timestamp;
use steersman_controller::helpers::conditions::{self, ConditionStatus};
use steersman_controller::helpers::{
    OwnerError, add_finalizer, has_finalizer, has_owner, is_controlled_by, remove_controller_reference,
    remove_finalizer, remove_owner_reference, set_controller_reference, set_owner_reference,
};

// UTIL-06
#[test]
fn finalizers_say_whether_anything_changed() {
    let mut object = ObjectMeta::default();
    assert!(!remove_finalizer(&mut object, "x.io/a"));
    assert!(add_finalizer(&mut object, "x.io/a"));
    assert!(!add_finalizer(&mut object, "x.io/a"));
    assert!(add_finalizer(&mut object, "x.io/b"));
    assert!(has_finalizer(&object, "x.io/a") && !has_finalizer(&object, "x.io/c"));
    object.finalizers.as_mut().unwrap().push("x.io/a".to_owned());
    assert!(remove_finalizer(&mut object, "x.io/a"), "all of them");
    assert_eq!(object.finalizers.as_deref(), Some(&["x.io/b".to_owned()][..]));
    assert!(remove_finalizer(&mut object, "x.io/b"));
    assert_eq!(object.finalizers, None);
}

// UTIL-01
#[test]
fn a_controller_reference_is_whole_and_there_is_one() {
    let web = replica_set("shop/web", "uid-web");
    let mut object = meta("shop/pod", "uid-pod");
    set_controller_reference(&web, &mut object).unwrap();
    let mut expected = owner("apps/v1 ReplicaSet web uid-web", Some(true));
    expected.block_owner_deletion = Some(true);
    assert_eq!(object.owner_references, Some(vec![expected.clone()]));
    // Again: nothing new. An entry of another version, or of an earlier life, is replaced.
    set_controller_reference(&web, &mut object).unwrap();
    object.owner_references.as_mut().unwrap()[0].api_version = "apps/v1beta1".to_owned();
    object.owner_references.as_mut().unwrap()[0].uid = "uid-old".to_owned();
    set_controller_reference(&web, &mut object).unwrap();
    assert_eq!(object.owner_references, Some(vec![expected]));
    // Another one is not displaced.
    let before = object.clone();
    let error = set_controller_reference(&replica_set("shop/api", "uid-api"), &mut object).unwrap_err();
    assert!(matches!(error, OwnerError::AlreadyOwned { .. }));
    assert_eq!(error.to_string(), "pod is already controlled by ReplicaSet web");
    assert_eq!(object, before);
}

// UTIL-02
#[test]
fn scopes_say_who_may_own() {
    let web = replica_set("shop/web", "uid-web");
    for set in [set_controller_reference, set_owner_reference] {
        let error = set(&web, &mut meta("cluster-wide", "uid")).unwrap_err();
        assert!(matches!(error, OwnerError::ClusterScoped { .. }), "{error}");
        let error = set(&web, &mut meta("away/pod", "uid")).unwrap_err();
        assert!(matches!(error, OwnerError::OtherNamespace { .. }), "{error}");
    }
    let node = Node { metadata: meta("node-1", "uid-node"), ..Node::default() };
    set_controller_reference(&node, &mut meta("shop/pod", "uid")).unwrap();
    set_controller_reference(&node, &mut meta("cluster-wide", "uid")).unwrap();
    let error =
        set_controller_reference(&replica_set("shop/web", ""), &mut meta("shop/pod", "uid")).unwrap_err();
    assert_eq!(error.to_string(), "the owner \"web\" was not read from the server: it has no uid");
}

// UTIL-03
#[test]
fn plain_owners_come_and_go() {
    let (web, api) = (replica_set("shop/web", "uid-web"), replica_set("shop/api", "uid-api"));
    let mut object = meta("shop/pod", "uid-pod");
    set_owner_reference(&web, &mut object).unwrap();
    set_controller_reference(&api, &mut object).unwrap();
    assert_eq!(object.owner_references.as_ref().unwrap()[0], owner("apps/v1 ReplicaSet web uid-web", None));
    assert!(has_owner(&web, &object) && has_owner(&api, &object));
    let error = remove_controller_reference(&web, &mut object).unwrap_err();
    assert!(matches!(error, OwnerError::NotController { .. }));
    remove_controller_reference(&api, &mut object).unwrap();
    assert!(!has_owner(&api, &object) && has_owner(&web, &object));
    let error = remove_owner_reference(&api, &mut object).unwrap_err();
    assert_eq!(error.to_string(), "pod is not owned by api");
    assert!(remove_controller_reference(&api, &mut object).is_err());
    remove_owner_reference(&web, &mut object).unwrap();
    assert_eq!(object.owner_references, None);
}

#[test]
fn control_is_by_uid() {
    let web = replica_set("shop/web", "uid-web");
    let mut pod = Pod { metadata: meta("shop/pod", "uid-pod"), ..Pod::default() };
    assert!(!is_controlled_by(&pod, &web));
    set_owner_reference(&web, &mut pod.metadata).unwrap();
    assert!(!is_controlled_by(&pod, &web), "an owner, not the controller");
    set_controller_reference(&web, &mut pod.metadata).unwrap();
    assert!(is_controlled_by(&pod, &web));
    assert!(!is_controlled_by(&pod, &replica_set("shop/web", "uid-new")), "the same name in another life");
    pod.metadata.owner_references.as_mut().unwrap()[0].uid.clear();
    assert!(!is_controlled_by(&pod, &replica_set("shop/web", "")), "no uid is nobody's");
}

fn at(second: i64) -> Time {
    Time(Timestamp::from_second(second).unwrap())
}

// UTIL-07
#[test]
fn a_conditions_time_moves_only_with_its_status() {
    let mut list: Vec<Condition> = Vec::new();
    assert!(conditions::set(&mut list, conditions::new("Ready", false, "Starting", "soon", at(1))));
    assert!(
        !conditions::set(&mut list, conditions::new("Ready", false, "Starting", "soon", at(2))),
        "no news"
    );
    assert_eq!(list[0].last_transition_time, at(1));
    assert!(conditions::set(&mut list, conditions::new("Ready", false, "Waiting", "for a node", at(3))));
    assert_eq!((&*list[0].reason, &list[0].last_transition_time), ("Waiting", &at(1)));
    let mut observed = conditions::new("Ready", false, "Waiting", "for a node", at(4));
    observed.observed_generation = Some(7);
    assert!(conditions::set(&mut list, observed), "a newer generation is news");
    assert!(conditions::set(&mut list, conditions::new("Ready", true, "Running", "", at(5))));
    assert_eq!((&*list[0].status, &list[0].last_transition_time), ("True", &at(5)));
    assert!(conditions::set(
        &mut list,
        conditions::new("Synced", ConditionStatus::Unknown, "New", "", at(6))
    ));
    assert_eq!(list.len(), 2);
    assert!(conditions::is_true(&list, "Ready") && !conditions::is_false(&list, "Ready"));
    assert!(!conditions::is_true(&list, "Synced") && !conditions::is_false(&list, "Synced"));
    assert!(!conditions::is_true(&list, "Absent") && !conditions::is_false(&list, "Absent"));
    assert_eq!(conditions::find(&list, "Synced").map(|known| &*known.status), Some("Unknown"));
    assert!(conditions::remove(&mut list, "Synced"));
    assert!(!conditions::remove(&mut list, "Synced"));
    assert_eq!(conditions::find(&list, "Synced"), None);
}
