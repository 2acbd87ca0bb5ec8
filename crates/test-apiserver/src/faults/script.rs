//! The plan as a value: rules in, faults out.

use super::{Fault, Verb, When};

#[derive(Debug)]
struct Rule {
    when: When,
    fault: Fault,
}

/// The rules that are still to be used up, in order.
#[derive(Debug, Default)]
pub(crate) struct Script {
    rules: Vec<Rule>,
}

impl Script {
    /// Appends a rule.
    pub(crate) fn push(&mut self, when: When, fault: Fault) {
        if when.times != Some(0) {
            self.rules.push(Rule { when, fault });
        }
    }

    /// Forgets every rule.
    pub(crate) fn clear(&mut self) {
        self.rules.clear();
    }

    /// Rules that are not used up; one without an end counts for ever.
    pub(crate) fn len(&self) -> usize {
        self.rules.len()
    }

    /// What becomes of this request: delays, and at most one other fault behind them.
    pub(crate) fn take(&mut self, verb: Verb, path: &str, query: &str) -> Vec<Fault> {
        let mut taken = Vec::new();
        let mut index = 0;
        while let Some(rule) = self.rules.get_mut(index) {
            if !rule.when.matches(verb, path, query) {
                index += 1;
                continue;
            }
            if rule.when.pass > 0 {
                rule.when.pass -= 1;
                index += 1;
                continue;
            }
            let is_last = !matches!(rule.fault, Fault::Delay(_));
            taken.push(rule.fault.clone());
            match &mut rule.when.times {
                Some(1) => drop(self.rules.remove(index)),
                Some(times) => {
                    *times -= 1;
                    index += 1;
                }
                None => index += 1,
            }
            if is_last {
                break;
            }
        }
        taken
    }
}

impl When {
    fn matches(&self, verb: Verb, path: &str, query: &str) -> bool {
        self.verb.is_none_or(|wanted| wanted == verb)
            && self.query.as_deref().is_none_or(|part| query.contains(part))
            && self.path.as_deref().is_none_or(|pattern| match pattern.strip_suffix('*') {
                Some(prefix) => path.starts_with(prefix),
                None => path == pattern,
            })
    }
}
