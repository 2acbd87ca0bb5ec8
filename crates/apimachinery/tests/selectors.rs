//! Selectors: the grammars of the reference server, and what they match.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1 as api;
use proptest::prelude::*;
use steersman_apimachinery::{FieldSelector, LabelSelector, Labels, Operator, Requirement};

fn parse(text: &str) -> LabelSelector {
    LabelSelector::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
}

fn matches(selector: &str, pairs: &[(&str, &str)]) -> bool {
    parse(selector).matches(Labels::from(&labels(pairs)))
}

// REST-SE-01, REST-SE-02, REST-SE-06
#[test]
fn what_the_label_grammar_allows_is_read_and_printed_in_order() {
    for (written, printed) in [
        ("", ""),
        (" \t\r\n", ""),
        ("x=a,y=b,z=c", "x=a,y=b,z=c"),
        ("z=c, y=b ,x=a", "x=a,y=b,z=c"),
        ("x!=a,y=b", "x!=a,y=b"),
        ("x==a", "x==a"),
        ("x=", "x="),
        ("x= ,z= ", "x=,z="),
        ("\rx", "x"),
        ("!x", "!x"),
        ("! x", "!x"),
        ("x>1,z<5", "x>1,z<5"),
        ("x in (b,a)", "x in (a,b)"),
        ("x  notin\t(abc,\ndef)", "x notin (abc,def)"),
        ("x in ()", "x in ()"),
        ("x in (,)", "x in ()"),
        ("x in (a,,)", "x in (,a)"),
        ("x in (a,,a,,a,,a,,)", "x in (,a)"),
        ("x notin (abc,,def),bar,z in (),w", "bar,w,x notin (,abc,def),z in ()"),
        ("in in (in,notin)", "in in (in,notin)"),
        ("notin=in", "notin=in"),
        ("in", "in"),
        ("!in,notin", "!in,notin"),
        ("x in(a)", "x in (a)"),
        ("this-is-a-dns.domain.com/key-with-dash", "this-is-a-dns.domain.com/key-with-dash"),
        (
            "0.1.2.domain/99 notin (10.10.100.1, tick.tack.clock)",
            "0.1.2.domain/99 notin (10.10.100.1,tick.tack.clock)",
        ),
        ("a,!a,a=b", "a,!a,a=b"),
    ] {
        let selector = parse(written);
        assert_eq!(selector.to_string(), printed, "{written:?}");
        assert_eq!(parse(printed), selector, "{printed:?}");
    }
}

// REST-SE-03, REST-SE-04
#[test]
fn what_the_label_grammar_forbids_is_an_error_that_quotes_it() {
    let long = "a".repeat(64);
    let texts = [
        "x,",
        ",x",
        ",",
        "x,,y",
        "x=a||y=b",
        "x==a==b",
        "!x=a",
        "x<a",
        "x>",
        "x>1.5",
        "x in a",
        "x in (a",
        "x in a)",
        "x in (a b)",
        "x in (a,b))",
        "x notin",
        "x y",
        "!",
        "!!x",
        "x = =",
        "x in (a=b)",
        "x=(a)",
        "in (a)",
        "()",
        "x)",
        "a/b/c",
        "/x",
        "x/",
        "-x",
        "x-",
        "X.com/y",
        "a..b/y",
        "x=-1",
        "x=a-",
        "x=é",
        "é",
        "x in (a!)",
        "x>-1",
        "x>9223372036854775808",
        &long,
    ];
    for text in texts {
        let error = LabelSelector::parse(text).expect_err(text).to_string();
        assert!(error.contains(&format!("{text:?}")), "{error}");
    }
    let name = "a".repeat(63);
    assert_eq!(parse(&format!("{name}={name}")).requirements().len(), 1);
    assert!(LabelSelector::parse(&format!("x={name}a")).is_err());
    let prefix = ["a".repeat(62), "b".repeat(62), "c".repeat(62), "d".repeat(64)].join(".");
    assert_eq!(prefix.len(), 253);
    assert_eq!(parse(&format!("{prefix}/x")).requirements()[0].key(), format!("{prefix}/x"));
    assert!(LabelSelector::parse(&format!("{prefix}e/x")).is_err());
}

// REST-SE-03, REST-SE-05
#[test]
fn labels_are_matched_as_the_server_matches_them() {
    let xy = [("x", "y")];
    for (selector, pairs, expected) in [
        ("", &[][..], true),
        ("", &xy[..], true),
        ("x=y", &xy, true),
        ("x=z", &xy, false),
        ("x=y", &[], false),
        ("x==y", &xy, true),
        ("x=", &[], false),
        ("x=", &[("x", "")], true),
        ("x!=y", &[], true),
        ("x!=y", &xy, false),
        ("x!=z", &xy, true),
        ("x notin (y,z)", &[], true),
        ("x notin (y,z)", &xy, false),
        ("x in (y,z)", &xy, true),
        ("x in (y,z)", &[("x", "w")], false),
        ("x in (y,z)", &[], false),
        ("x in ()", &[("x", "")], true),
        ("x", &xy, true),
        ("x", &[], false),
        ("!x", &xy, false),
        ("!x", &[("z", "y")], true),
        ("x>1", &[("x", "2")], true),
        ("x>1", &[("x", "1")], false),
        ("x<2", &[("x", "1")], true),
        ("x<2", &[("x", "2")], false),
        ("x<2", &[("x", "one")], false),
        ("x>1", &[("x", "")], false),
        ("x>1", &[], false),
        ("x>9223372036854775806", &[("x", "9223372036854775807")], true),
        ("x>1", &[("x", "9223372036854775808")], false),
        ("x=y,z=w", &[("x", "y"), ("z", "w")], true),
        ("x=y,z=w", &xy, false),
        ("x,x!=y", &xy, false),
    ] {
        assert_eq!(matches(selector, pairs), expected, "{selector:?} on {pairs:?}");
    }
}

// REST-SE-07
#[test]
fn a_set_of_labels_becomes_a_selector_without_being_checked() {
    assert!(LabelSelector::from_labels([]).is_everything());
    let odd = LabelSelector::from_labels([("not a key", "not a value!")]);
    assert!(odd.matches(Labels::from(&labels(&[("not a key", "not a value!")]))));
    assert!(!odd.matches(Labels::NONE));
    assert!(LabelSelector::from_valid_labels([("not a key", "v")]).is_err());
    assert!(LabelSelector::from_valid_labels([("k", "v v")]).is_err());
    let two = LabelSelector::from_valid_labels([("b", "2"), ("a", "1")]).unwrap();
    assert_eq!(two.to_string(), "a=1,b=2");
}

fn object(labels_: &[(&str, &str)], expressions: &[(&str, &str, &[&str])]) -> api::LabelSelector {
    api::LabelSelector {
        match_labels: (!labels_.is_empty()).then(|| labels(labels_)),
        match_expressions: Some(
            expressions
                .iter()
                .map(|(key, operator, values)| api::LabelSelectorRequirement {
                    key: (*key).to_owned(),
                    operator: (*operator).to_owned(),
                    values: (!values.is_empty()).then(|| values.iter().map(|v| (*v).to_owned()).collect()),
                })
                .collect(),
        ),
    }
}

// REST-SE-08
#[test]
fn an_object_without_a_selector_selects_nothing_and_an_empty_one_everything() {
    let nothing = LabelSelector::from_object(None).unwrap();
    assert!(nothing.is_nothing() && !nothing.is_everything());
    assert!(!nothing.matches(Labels::NONE));
    assert_eq!(nothing.to_string(), "");
    let one = Requirement::new("a", Operator::Exists, [""; 0]).unwrap();
    assert!(nothing.and(one).is_nothing());

    let everything = LabelSelector::from_object(Some(&api::LabelSelector::default())).unwrap();
    assert!(everything.is_everything() && everything.matches(Labels::NONE));

    let both = object(
        &[("app", "web")],
        &[
            ("tier", "In", &["b", "a"]),
            ("zone", "NotIn", &["x"]),
            ("up", "Exists", &[]),
            ("old", "DoesNotExist", &[]),
        ],
    );
    let both = LabelSelector::from_object(Some(&both)).unwrap();
    assert_eq!(both.to_string(), "app=web,!old,tier in (a,b),up,zone notin (x)");

    for wrong in [
        object(&[], &[("a", "Gt", &["1"])]),
        object(&[], &[("a", "in", &["1"])]),
        object(&[], &[("a", "In", &[])]),
        object(&[], &[("a", "Exists", &["1"])]),
        object(&[("a b", "c")], &[]),
    ] {
        assert!(LabelSelector::from_object(Some(&wrong)).is_err(), "{wrong:?}");
        assert_eq!(LabelSelector::format_object(Some(&wrong)), "<error>");
    }
}

// REST-SE-09
#[test]
fn a_written_selector_becomes_an_object_unless_it_compares_numbers() {
    let text = "a=1,b in (x,y),c notin (z),!d,e,f==2";
    let object = parse(text).to_object().unwrap().unwrap();
    assert_eq!(object.match_labels, Some(labels(&[("a", "1"), ("f", "2")])));
    let back = LabelSelector::from_object(Some(&object)).unwrap();
    assert_eq!(back.to_string(), "a=1,b in (x,y),c notin (z),!d,e,f=2");
    assert!(parse("a>1").to_object().is_err());
    assert!(parse("a<1").to_object().is_err());
    assert_eq!(LabelSelector::nothing().to_object().unwrap(), None);
    assert_eq!(LabelSelector::format_object(None), "<none>");
    assert_eq!(LabelSelector::format_object(Some(&object)), back.to_string());
}

fn field(text: &str) -> FieldSelector {
    FieldSelector::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

// REST-SE-10
#[test]
fn field_selectors_are_read_with_their_escapes_and_printed_in_order() {
    for (written, printed) in [
        ("", ""),
        (",,", ""),
        ("a=avalue", "a=avalue"),
        ("c!=cvalue,b==bvalue,a=avalue", "a=avalue,b=bvalue,c!=cvalue"),
        ("a=a,", "a=a"),
        ("a=", "a="),
        ("=a", "=a"),
        (r"k=\,,k2=v2", r"k2=v2,k=\,"),
        (r"k=\\,k2=v2", r"k2=v2,k=\\"),
        (r"k=\\\,\=", r"k=\\\,\="),
        ("함=수,목=록", "목=록,함=수"),
        ("a!b=c", "a!b=c"),
    ] {
        assert_eq!(field(written).to_string(), printed, "{written:?}");
        assert_eq!(field(printed).to_string(), printed);
    }
    assert_eq!(field(r"k=\\\,\=").exact("k"), Some(r"\,="));
    for wrong in ["a", r"k=\a\b\", r"k=\", "a=b=c", "a===b", "a!==b", "!a", r"a=b,c"] {
        let error = FieldSelector::parse(wrong).expect_err(wrong).to_string();
        assert!(error.contains(&format!("{wrong:?}")), "{error}");
    }
}

// REST-SE-11
#[test]
fn an_absent_field_is_the_empty_text() {
    let none = |_: &str| None::<&str>;
    assert!(field("a=").matches(none));
    assert!(!field("a!=").matches(none));
    assert!(field("a!=b").matches(none));
    assert!(!field("a=b").matches(none));
    assert!(field("").matches(none) && field("").is_everything());
    let held = |path: &str| (path == "a").then(|| "b".to_owned());
    assert!(field("a=b,c=").matches(held));
    assert!(!field("a=b,c=d").matches(held));
    assert!(!field("a!=b").matches(held));
}

// REST-SE-12
#[test]
fn the_one_value_that_a_selector_wants_can_be_asked() {
    let labels = parse("a=1,b==2,c in (3),d in (3,4),e!=5,f,g>6,h notin (7)");
    let asked = |key| labels.exact(key);
    assert_eq!((asked("a"), asked("b"), asked("c")), (Some("1"), Some("2"), Some("3")));
    for key in ["d", "e", "f", "g", "h", "nowhere"] {
        assert_eq!(asked(key), None, "{key}");
    }
    // The first requirement of a key decides.
    assert_eq!(parse("a!=2,a=1").exact("a"), None);
    let fields = field("a=1,b!=2");
    assert_eq!((fields.exact("a"), fields.exact("b"), fields.exact("c")), (Some("1"), None, None));
}

// REST-SE-13
#[test]
fn a_field_selector_is_put_in_other_words_and_empty_terms_are_dropped() {
    let renamed = field("a=1,b!=2,c=3").transform(|field, value| {
        Ok(if field == "b" {
            (String::new(), String::new())
        } else {
            (field.to_uppercase(), value.repeat(2))
        })
    });
    assert_eq!(renamed.unwrap().to_string(), "A=11,C=33");
}

fn requirement() -> impl Strategy<Value = Requirement> {
    let key = "([a-z0-9]{1,5}(\\.[a-z0-9]{1,4})?/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,8}[A-Za-z0-9])?";
    let value = "([A-Za-z0-9]([A-Za-z0-9._-]{0,8}[A-Za-z0-9])?)?";
    let listed = proptest::collection::vec(value, 1..4);
    let operator = prop_oneof![
        (prop_oneof![Just(Operator::In), Just(Operator::NotIn)], listed),
        (
            prop_oneof![Just(Operator::Equals), Just(Operator::DoubleEquals), Just(Operator::NotEquals)],
            value.prop_map(|value| vec![value])
        ),
        (prop_oneof![Just(Operator::Exists), Just(Operator::DoesNotExist)], Just(Vec::new())),
        (
            prop_oneof![Just(Operator::GreaterThan), Just(Operator::LessThan)],
            (0..i64::MAX).prop_map(|number| vec![number.to_string()])
        ),
    ];
    (key, operator).prop_map(|(key, (operator, values))| Requirement::new(&key, operator, values).unwrap())
}

proptest! {
    #[test]
    fn a_printed_label_selector_reads_as_itself(requirements in proptest::collection::vec(requirement(), 0..5)) {
        let selector: LabelSelector = requirements.into_iter().collect();
        prop_assert_eq!(LabelSelector::parse(&selector.to_string()).unwrap(), selector);
    }

    #[test]
    fn a_text_that_reads_as_a_label_selector_prints_one_that_reads_the_same(text in "[ab=!(),<>0-9 ino/.é-]{0,24}") {
        if let Ok(selector) = LabelSelector::parse(&text) {
            prop_assert_eq!(LabelSelector::parse(&selector.to_string()).unwrap(), selector);
        }
    }

    #[test]
    fn a_printed_field_selector_reads_as_itself(terms in proptest::collection::vec(("[a-z.]{1,9}", "\\PC{0,9}|[\\\\,=]{0,4}", any::<bool>()), 0..4)) {
        let selector = terms.iter().fold(FieldSelector::everything(), |s, (field, value, equal)| s.and(field, value, *equal));
        prop_assert_eq!(FieldSelector::parse(&selector.to_string()).unwrap(), selector);
    }

    #[test]
    fn any_text_is_a_field_selector_or_an_error(text in "[a\\\\,=!é]{0,16}") {
        if let Ok(selector) = FieldSelector::parse(&text) {
            // The terms are those that were read. Their order is that of the text as it was written, as in the reference
            // client, so it may be another after printing: `==!` is printed `=!`.
            let again = FieldSelector::parse(&selector.to_string()).unwrap();
            let sorted = |selector: &FieldSelector| {
                let mut terms: Vec<String> = selector.terms().iter().map(ToString::to_string).collect();
                terms.sort();
                terms
            };
            prop_assert_eq!(sorted(&again), sorted(&selector));
        }
    }
}

/// One line a selector: kind, text, and unless it is an error: as printed, which of the sets below it matches, and the
/// one value that it wants of `a`. Recorded from k8s.io/apimachinery v0.37.2.
const REFERENCE: &str = include_str!("selectors_reference.jsonl");

// REST-SE-01, REST-SE-02, REST-SE-03, REST-SE-05, REST-SE-06, REST-SE-10, REST-SE-11, REST-SE-12
#[test]
fn selectors_are_what_the_reference_client_makes_of_them() {
    let of_labels: [&[(&str, &str)]; 5] = [
        &[],
        &[("a", "b")],
        &[("a", "1"), ("b", "")],
        &[("x", "5"), ("in", "notin"), ("a.b/c", "A")],
        &[("a", "in"), ("notin", "a"), ("c", "c")],
    ];
    let of_fields: [&[(&str, &str)]; 4] = [&[], &[("a", "b")], &[("a", "1"), ("b", "a")], &[("spec.x", "1")]];
    let bits =
        |matched: Vec<bool>| matched.into_iter().map(|m| if m { '1' } else { '0' }).collect::<String>();
    for line in REFERENCE.lines() {
        let expected: Vec<Option<String>> = serde_json::from_str(line).unwrap();
        let expected: Vec<Option<&str>> = expected.iter().map(Option::as_deref).collect();
        let (kind, text) = (expected[0].unwrap(), expected[1].unwrap());
        let answer = if kind == "label" {
            LabelSelector::parse(text).ok().map(|selector| {
                let matched = of_labels.iter().map(|set| selector.matches(Labels::from(&labels(set))));
                let matched = bits(matched.collect());
                (selector.to_string(), matched, selector.exact("a").map(str::to_owned))
            })
        } else {
            FieldSelector::parse(text).ok().map(|selector| {
                let matched = of_fields.iter().map(|set| {
                    selector
                        .matches(|field| set.iter().find(|(name, _)| *name == field).map(|(_, value)| *value))
                });
                let matched = bits(matched.collect());
                (selector.to_string(), matched, selector.exact("a").map(str::to_owned))
            })
        };
        let answer =
            answer.as_ref().map(|(printed, matched, exact)| [Some(printed), Some(matched), exact.as_ref()]);
        let answer: Vec<Option<&str>> =
            answer.iter().flatten().map(|part| part.map(String::as_str)).collect();
        assert_eq!(answer, expected[2..], "{kind} selector {text:?}");
    }
}
