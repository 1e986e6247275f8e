//! What the words of the command line are about.

use aggregator_core::state::{NamedObject, Subject};
use anyhow::{Context as _, Result, bail};

use super::args::Flags;

const OBJECTS: &str =
    "give objects as TYPE/NAME …, TYPE NAME … or TYPE, for example pod/db-0 pvc/data -n shop; or pods,svc";
const ONE: &str = "give what would be deleted: one TYPE/NAME, for example ns/shop";
const SELECTED: &str = "give the TYPE of what the labels select, for example: pods -l app=db";

pub fn subject(object: &[String], namespace: String, flags: &Flags) -> Result<Subject> {
    let selector = flags.selector.clone();
    match object {
        [] if selector.is_some() => bail!("{SELECTED}"),
        [] if flags.before => bail!("{ONE}"),
        [] => return Ok(Subject::Everything { namespace: flags.namespace.clone(), all_kinds: flags.all_kinds }),
        [one] if !one.contains('/') => {
            if flags.before {
                bail!("{ONE}");
            }
            if one.split(',').any(str::is_empty) {
                bail!("{OBJECTS}");
            }
            return Ok(Subject::Kind { word: one.clone(), namespace: flags.namespace.clone(), selector });
        }
        _ if selector.is_some() => bail!("{SELECTED}"),
        _ => {}
    }
    let mut objects = named(object)?;
    Ok(match (objects.len(), objects.pop()) {
        (1, Some(NamedObject { word, name })) if flags.before => Subject::Before { word, namespace, name },
        (1, Some(NamedObject { word, name })) => Subject::Object { word, namespace, name },
        _ if flags.before => bail!("{ONE}"),
        (_, last) => Subject::Objects { objects: objects.into_iter().chain(last).collect(), namespace },
    })
}

/// `TYPE/NAME …` or `TYPE NAME …`, each object once.
fn named(words: &[String]) -> Result<Vec<NamedObject>> {
    let pairs: Option<Vec<(&str, &str)>> = match words {
        [word, names @ ..] if !word.contains('/') => {
            Some(names.iter().map(|name| (word.as_str(), name.as_str())).collect())
        }
        _ => words.iter().map(|both| both.split_once('/')).collect(),
    };
    let is_one = |(word, name): &(&str, &str)| {
        !word.is_empty() && !name.is_empty() && !name.contains('/') && !word.contains(',')
    };
    let pairs = pairs.filter(|pairs| pairs.iter().all(is_one)).context(OBJECTS)?;
    let mut objects: Vec<NamedObject> = Vec::new();
    for (word, name) in pairs {
        let one = NamedObject { word: word.to_owned(), name: name.to_owned() };
        if !objects.contains(&one) {
            objects.push(one);
        }
    }
    Ok(objects)
}
