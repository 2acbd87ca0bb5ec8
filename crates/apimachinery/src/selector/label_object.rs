//! Label selectors as objects have them: `metav1.LabelSelector`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1 as api;

use super::{LabelSelector, Operator, Requirement, SelectorError};

impl LabelSelector {
    /// The selector that an object means by its `metav1.LabelSelector`: none selects nothing, an empty one everything.
    pub fn from_object(object: Option<&api::LabelSelector>) -> Result<Self, SelectorError> {
        let Some(object) = object else { return Ok(Self::nothing()) };
        let equal = object.match_labels.iter().flatten();
        let equal = equal.map(|(key, value)| Requirement::new(key, Operator::Equals, [value]));
        let expressions = object.match_expressions.iter().flatten().map(|expression| {
            let operator = match &*expression.operator {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                other => {
                    return Err(SelectorError::new(&expression.key, format!("unknown operator {other:?}")));
                }
            };
            Requirement::new(&expression.key, operator, expression.values.iter().flatten())
        });
        equal.chain(expressions).collect()
    }

    /// The same selector as an object would have it, `None` for nothing. Objects know no `>`, `<` and `!=`: the first
    /// two are an error, the last becomes NotIn; and of two values that one label should equal, the last stays.
    pub fn to_object(&self) -> Result<Option<api::LabelSelector>, SelectorError> {
        if self.is_nothing() {
            return Ok(None);
        }
        let mut object = api::LabelSelector::default();
        for requirement in self.requirements() {
            let operator = match requirement.operator() {
                Operator::Equals | Operator::DoubleEquals => {
                    let value = requirement.values().first().cloned().unwrap_or_default();
                    let labels = object.match_labels.get_or_insert_default();
                    labels.insert(requirement.key().to_owned(), value);
                    continue;
                }
                Operator::In => "In",
                Operator::NotIn | Operator::NotEquals => "NotIn",
                Operator::Exists => "Exists",
                Operator::DoesNotExist => "DoesNotExist",
                Operator::GreaterThan | Operator::LessThan => {
                    return Err(SelectorError::new(self.to_string(), "an object cannot have > and <"));
                }
            };
            let values = requirement.values();
            object.match_expressions.get_or_insert_default().push(api::LabelSelectorRequirement {
                key: requirement.key().to_owned(),
                operator: operator.to_owned(),
                values: (!values.is_empty()).then(|| values.to_vec()),
            });
        }
        Ok(Some(object))
    }

    /// How a table shows the selector of an object: `<none>` where nothing is printed, `<error>` where it is invalid.
    pub fn format_object(object: Option<&api::LabelSelector>) -> String {
        match Self::from_object(object).map(|selector| selector.to_string()) {
            Ok(text) if text.is_empty() => "<none>".to_owned(),
            Ok(text) => text,
            Err(_) => "<error>".to_owned(),
        }
    }
}
