//! Single objects and lists.

use super::bounded_client::BoundedClient;
use super::kind_scan::scan_kind;
use super::list::{list, readable};
use super::pages::Form;
use super::paths::path;
use super::terminating;
use aggregator_core::state::{Answered, Detail, Facts, Question, Scope, Select};

/// Asks for one object, or for a list page after page.
pub async fn ask(server: &BoundedClient<'_>, question: Question) -> Answered {
    match &question {
        Question::Objects { resource, scope: scope @ Scope::Named(..), detail, .. } => {
            let answer = server.get(&path(resource, scope), Form::from(*detail).of_one()).await;
            let answer = answer.and_then(|body| readable(Facts::object(&question, &body)));
            Answered::whole(question, answer)
        }
        Question::Objects { select: Select::Terminating, detail: Detail::Full, .. } => {
            terminating::ask(server, &question).await
        }
        _ => match server.bounds.scan.filter(|_| question.is_scan()) {
            Some(budget) => scan_kind(server, question, budget).await,
            None => list(server, question).await,
        },
    }
}
