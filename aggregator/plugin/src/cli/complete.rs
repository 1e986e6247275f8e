//! What is offered for the word being typed.
//!
//! For `kubectl why-terminating …` kubectl (1.26 and newer) runs `kubectl_complete-why_terminating` with the words so
//! far, and reads one offer per line, then a directive. This program is it, when it is called by that name.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::Duration;

use aggregator_core::state::{ApiResource, Scope, known};
use clap::{ArgAction, CommandFactory as _, Parser as _};
use findings::{cause, clean};
use serde_json::Value;

use super::args::{self, Args};
use client::{ApiClient, Connection, Form, Limits, List, Selector, connect, path};

/// The name by which kubectl calls it.
pub const NAME: &str = "kubectl_complete-why_terminating";
/// Who types does not wait longer for names.
const TIMEOUT: Duration = Duration::from_secs(2);
/// No answer is longer.
const MAX_ANSWER_BYTES: usize = 64 << 20;
/// Names are taken from one page of a list.
const MAX_NAMES: u32 = 500;
/// Types that are offered; others can be typed.
const TYPES: [(&str, ApiResource); 6] = [
    ("ns", known::NAMESPACES),
    ("pod", known::PODS),
    ("pvc", known::CLAIMS),
    ("pv", known::VOLUMES),
    ("node", known::NODES),
    ("crd", known::CRDS),
];

/// What fits the word.
#[derive(Debug, PartialEq, Eq)]
enum Offer {
    /// One of these; each with a few words about it.
    Words(BTreeMap<String, String>),
    /// An object of this type.
    Object {
        typed: &'static str,
        of: ApiResource,
    },
    Namespace,
    File,
}

/// Offers what fits the last of `words`.
pub async fn main(words: &[String]) -> ExitCode {
    let word = words.last().map(String::as_str).unwrap_or_default();
    let before = words.split_last().map_or(&[][..], |(_, before)| before);
    let lines = match offer(before, word) {
        Offer::File => ":0\n".to_owned(),
        Offer::Words(all) => print(&all, word),
        Offer::Object { typed, of } => {
            let names = names(before, of).await.into_iter();
            print(&names.map(|name| (format!("{typed}/{name}"), String::new())).collect(), word)
        }
        Offer::Namespace => {
            let (_, of) = TYPES[0];
            let names = names(before, of).await.into_iter();
            print(&names.map(|name| (name, String::new())).collect(), word)
        }
    };
    // The reader may have closed the pipe.
    let _ = std::io::stdout().write_all(lines.as_bytes());
    ExitCode::SUCCESS
}

fn offer(before: &[String], word: &str) -> Offer {
    let plugin = Args::command();
    let command = before.first().and_then(|name| plugin.find_subcommand(name)).unwrap_or(&plugin);
    let is_named = |arg: &clap::Arg, flag: &str| {
        arg.get_long().is_some_and(|long| flag == format!("--{long}"))
            || arg.get_short().is_some_and(|short| flag == format!("-{short}"))
    };
    let takes_value = |arg: &&clap::Arg| matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    let open = before.last().and_then(|flag| command.get_arguments().find(|arg| is_named(arg, flag)));
    if let Some(flag) = open.filter(takes_value) {
        return value(flag);
    }
    if word.starts_with('-') {
        let flags = command.get_arguments().filter_map(|arg| Some((format!("--{}", arg.get_long()?), help(arg))));
        return Offer::Words(flags.collect());
    }
    match command.get_name() {
        "causes" => Offer::Words(cause::all().map(|cause| (cause.id.to_owned(), cause.title.to_owned())).collect()),
        "judge" => Offer::File,
        "completion" => command.get_positionals().next().map_or_else(|| Offer::Words(BTreeMap::new()), value),
        _ => object(&plugin, word),
    }
}

/// What a flag or an argument takes.
fn value(arg: &clap::Arg) -> Offer {
    match arg.get_id().as_str() {
        "namespace" => Offer::Namespace,
        "kubeconfig" | "save_state" => Offer::File,
        _ => {
            let values = arg.get_possible_values();
            let about = |value: &clap::builder::PossibleValue| value.get_help().map(ToString::to_string);
            let words = values.iter().map(|it| (it.get_name().to_owned(), about(it).unwrap_or_default()));
            Offer::Words(words.collect())
        }
    }
}

fn object(plugin: &clap::Command, word: &str) -> Offer {
    if let Some((typed, _)) = word.split_once('/') {
        let known = TYPES.into_iter().find(|(name, _)| *name == typed);
        return known.map_or_else(|| Offer::Words(BTreeMap::new()), |(typed, of)| Offer::Object { typed, of });
    }
    let types = TYPES.iter().map(|(name, of)| (format!("{name}/"), format!("one {}", of.kind)));
    let commands = plugin.get_subcommands().map(|command| {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        (command.get_name().to_owned(), about)
    });
    Offer::Words(types.chain(commands).collect())
}

fn help(arg: &clap::Arg) -> String {
    arg.get_help().map(ToString::to_string).unwrap_or_default()
}

/// The lines that kubectl reads: its shell completion is cobra's.
fn print(all: &BTreeMap<String, String>, word: &str) -> String {
    let fitting: Vec<_> = all.iter().filter(|(offer, _)| offer.starts_with(word)).collect();
    // 4: do not offer files; 2: go on without a space, because the name follows.
    let directive = if !fitting.is_empty() && fitting.iter().all(|(offer, _)| offer.ends_with('/')) { 6 } else { 4 };
    let line = |(offer, about): (&String, &String)| {
        let about = about.lines().next().unwrap_or_default();
        if about.is_empty() { format!("{offer}\n") } else { format!("{offer}\t{about}\n") }
    };
    fitting.into_iter().map(line).chain([format!(":{directive}\n")]).collect()
}

/// What is being deleted, with the flags that were typed before; nothing when it cannot be had soon.
async fn names(before: &[String], of: ApiResource) -> Vec<String> {
    let typed = std::iter::once("kubectl").chain(before.iter().map(String::as_str));
    // A flag that waits for its value is no mistake yet.
    let flags = Args::try_parse_from(typed).map(|args| args.flags).ok();
    let given = flags.as_ref().map(|flags| args::connection(&flags.connection)).unwrap_or_default();
    let connection = Connection { request_timeout: TIMEOUT, ..given };
    let namespace = flags.and_then(|flags| flags.namespace);
    tokio::time::timeout(TIMEOUT, list(&connection, namespace, of)).await.unwrap_or_default()
}

async fn list(connection: &Connection, namespace: Option<String>, of: ApiResource) -> Vec<String> {
    let Ok((client, default)) = connect(connection).await else { return Vec::new() };
    let namespace = Some(namespace.unwrap_or(default.namespace)).filter(|_| of.namespaced);
    let path = path(&of.into(), &namespace.map_or(Scope::All, Scope::Namespace));
    let is_namespaces = of == known::NAMESPACES;
    let selector = if is_namespaces { Selector::Fields("status.phase=Terminating") } else { Selector::Every };
    let list = List { form: Form::Metadata, ..List::new(&path, selector, MAX_NAMES) };
    let mut names = Vec::new();
    let take = |objects: Vec<Value>| {
        let metadata = objects.iter().map(|object| &object["metadata"]);
        let deleted = metadata.filter(|metadata| !metadata["deletionTimestamp"].is_null());
        names.extend(deleted.filter_map(|metadata| Some(clean(metadata["name"].as_str()?, 253))));
        ControlFlow::Break(())
    };
    let api = ApiClient::new(client, Limits::new(TIMEOUT, MAX_ANSWER_BYTES));
    // Nothing is offered in its place.
    let _ = api.list(list, take).await;
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(line: &[&str]) -> Vec<String> {
        let words: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
        let (word, before) = words.split_last().unwrap();
        match offer(before, word) {
            Offer::Words(all) => print(&all, word).lines().map(|line| line.replace('\t', " | ")).collect(),
            other => vec![format!("{other:?}")],
        }
    }

    #[test]
    fn types_and_commands() {
        assert_eq!(
            offered(&["p"]),
            ["pod/ | one Pod", "pv/ | one PersistentVolume", "pvc/ | one PersistentVolumeClaim", ":6"]
        );
        assert_eq!(offered(&["-A", "comp"]), ["completion | Print a completion script for this shell", ":4"]);
        assert_eq!(offered(&["widgets/"]), [":4"]);
        assert!(offered(&["-n", "shop", "pod/d"])[0].starts_with("Object"));
    }

    #[test]
    fn flags_and_their_values() {
        assert_eq!(offered(&["--no-h"]), ["--no-headers | Leave out the header of the table", ":4"]);
        assert_eq!(
            offered(&["-o", "t"]),
            ["table | One line per root cause", "tree | What holds it, and what to do", ":4"]
        );
        assert_eq!(offered(&["--kubeconfig", ""]), ["File"]);
        assert_eq!(offered(&["-n", ""]), ["Namespace"]);
        // A switch takes no value.
        assert!(offered(&["-A", "ns"])[0].starts_with("ns/"));
    }

    #[test]
    fn causes() {
        assert_eq!(offered(&["causes", "NodeUnreach"]), ["NodeUnreachable | The node is silent", ":4"]);
        assert_eq!(offered(&["judge", ""]), ["File"]);
        assert!(offered(&["completion", "ba"])[0].starts_with("bash"));
    }
}
