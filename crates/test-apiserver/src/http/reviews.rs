//! Reviews: questions that are answered and not kept. Everybody who is let in may do everything, as with
//! `--authorization-mode=AlwaysAllow`; a refusal is planned as a fault.

use serde_json::json;

use crate::core::errors;
use crate::faults::Verb;
use crate::http::answer::Answer;
use crate::http::request::ResourcePath;
use crate::http::{bodies, status};

/// Group, version, kind, resource and scope of each review.
pub(crate) const REVIEWS: [(&str, &str, &str, &str, bool); 5] = [
    ("authentication.k8s.io", "v1", "SelfSubjectReview", "selfsubjectreviews", false),
    ("authorization.k8s.io", "v1", "LocalSubjectAccessReview", "localsubjectaccessreviews", true),
    ("authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", false),
    ("authorization.k8s.io", "v1", "SelfSubjectRulesReview", "selfsubjectrulesreviews", false),
    ("authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", false),
];

/// The answer, if the path is that of a review.
pub(crate) fn answer(
    path: &ResourcePath,
    verb: Verb,
    content_type: Option<&str>,
    body: &[u8],
    user: &str,
) -> Option<Answer> {
    let kind = REVIEWS
        .iter()
        .find(|review| (review.0, review.1, review.3) == (&path.group, &path.version, &path.plural))
        .map(|review| review.2)?;
    if verb != Verb::Create || path.name.is_some() {
        let message = format!("only create is supported on {}.{}", path.plural, path.group);
        return Some(Answer::refusal(&status::refusal(405, "MethodNotAllowed", message)));
    }
    let mut review = match bodies::object(content_type, body) {
        Ok(review) if review.is_object() => review,
        Ok(_) => {
            return Some(Answer::refusal(&errors::bad_request("the body of the request must be an object")));
        }
        Err(refusal) => return Some(Answer::refusal(&refusal)),
    };
    review["status"] = match kind {
        "SelfSubjectReview" => {
            json!({ "userInfo": { "username": user, "groups": ["system:authenticated"] } })
        }
        "SelfSubjectRulesReview" => json!({
            "incomplete": false,
            "resourceRules": [{ "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"] }],
            "nonResourceRules": [{ "verbs": ["*"], "nonResourceURLs": ["*"] }],
        }),
        _ => json!({ "allowed": true }),
    };
    Some(Answer::json(201, &review))
}
