//! What is posted below a pod: a scheduler's binding, a drain's eviction.

use std::sync::Arc;

use apimachinery::{CreateOptions, DeleteOptions, StatusError};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::registry::ResourceInfo;
use super::stored::Stored;
use super::write::stamp;
use super::{Core, Target, errors};

impl Core {
    /// A POST below an object: `pods/NAME/binding` puts a pod on a node, `pods/NAME/eviction` deletes it. The answer is a
    /// `Status`, with code 201.
    pub fn create_subresource(
        &mut self,
        target: &Target,
        name: &str,
        body: &Value,
        options: &CreateOptions,
        now: Timestamp,
    ) -> Result<Value, StatusError> {
        let subresource = target.subresource.as_deref();
        let whole = Target { subresource: None, ..target.clone() };
        let resource = self.resolve(&whole)?;
        match subresource {
            Some("binding") if resource.is("", "pods") => {
                let pod = self.find(&resource, &whole, name)?.clone();
                self.bind(&resource, &pod, body, options, now)?;
            }
            Some("eviction") if resource.is("", "pods") => {
                let mut wanted = DeleteOptions::default();
                wanted.grace_period_seconds = body["deleteOptions"]["gracePeriodSeconds"].as_i64();
                wanted.dry_run = options.dry_run || body["deleteOptions"]["dryRun"] == json!(["All"]);
                self.delete(&whole, name, &wanted, now)?;
            }
            _ => return Err(errors::no_such_path()),
        }
        Ok(json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}))
    }

    fn bind(
        &mut self,
        resource: &ResourceInfo,
        pod: &Arc<Stored>,
        binding: &Value,
        options: &CreateOptions,
        now: Timestamp,
    ) -> Result<(), StatusError> {
        let node = binding["target"]["name"].as_str().unwrap_or_default();
        if node.is_empty() {
            let missing = errors::FieldError::required("target.name", "");
            return Err(errors::invalid_kind("", "Binding", pod.name(), &[missing]));
        }
        let mut object = pod.value();
        if let Some(present) = object["spec"]["nodeName"].as_str().filter(|present| !present.is_empty()) {
            let why = format!("pod {} is already assigned to node {present:?}", pod.name());
            return Err(errors::conflict(resource, pod.name(), &why));
        }
        if pod.is_deleting() {
            let why = format!("pod {} is being deleted, cannot be assigned to a host", pod.name());
            return Err(errors::conflict(resource, pod.name(), &why));
        }
        object["spec"]["nodeName"] = json!(node);
        let scheduled = json!({"type": "PodScheduled", "status": "True", "lastTransitionTime": stamp(now)});
        let conditions = &mut object["status"]["conditions"];
        match conditions.as_array_mut() {
            Some(list) => {
                list.retain(|condition| condition["type"] != "PodScheduled");
                list.push(scheduled);
            }
            None => *conditions = json!([scheduled]),
        }
        if !options.dry_run {
            self.commit(resource, object);
        }
        Ok(())
    }
}
