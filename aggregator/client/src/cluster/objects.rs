//! Single objects and lists.

use super::list::{list, readable};
use super::pages::Form;
use super::paths::path;
use super::server::Server;
use super::terminating;
use aggregator_core::state::{Answer, Detail, Facts, Question, Scope, Select};

/// Asks for one object, or for a list page after page. The second value says whether objects were left out.
pub async fn ask(server: &Server<'_>, question: &Question) -> (Answer<Facts>, bool) {
    match question {
        Question::Objects { resource, scope: scope @ Scope::Named(..), detail, .. } => {
            let answer = server.get(&path(resource, scope), Form::from(*detail).of_one()).await;
            (answer.and_then(|body| readable(Facts::object(question, &body))), false)
        }
        Question::Objects { select: Select::Terminating, detail: Detail::Full, .. } => {
            terminating::ask(server, question).await
        }
        _ => list(server, question).await,
    }
}
