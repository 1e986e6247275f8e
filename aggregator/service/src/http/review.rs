//! Who a caller is and what they may see: the API server decides, by TokenReview and SubjectAccessReview. Its answers are
//! cached for a few seconds.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use aggregator_core::access::Access;
use client::{ApiClient, Client, Content, Limits, Response, SERVICE_AUDIENCE};
use futures::StreamExt as _;
use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;

/// So long an answer is believed: a right that is taken away is gone after that.
const CACHE_TTL: Duration = Duration::from_secs(15);
/// Answers that are kept.
const MAX_CACHED_ANSWERS: usize = 50_000;
/// Reviews at a time, of all callers together.
const MAX_CONCURRENT_REVIEWS: usize = 16;
/// No review is longer.
const MAX_REVIEW_BYTES: usize = 1 << 20;
/// No token is longer.
pub const MAX_TOKEN_BYTES: usize = 16 << 10;

/// A user that the API server knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct User {
    pub username: String,
    pub uid: String,
    pub groups: Vec<String>,
    /// What else its authenticator says.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// Thousands of answers are kept of one user, who may be in many groups.
    fn digest(&self) -> [u8; 32] {
        Sha256::digest(json!(self).to_string()).into()
    }
}

/// Something that a caller may or may not do.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Right {
    /// To read objects.
    Read(Access),
    /// To read a path that is no resource.
    Path(&'static str),
}

/// The API server could not be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the API server does not say who may see what")]
pub struct NotReviewed;

/// Which tokens are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Taken {
    /// Those that are made for this service.
    Own,
    /// Those for the API server as well.
    ApiServers,
}

/// The token itself is not kept.
fn digest(token: &str, taken: Taken) -> ([u8; 32], Taken) {
    (Sha256::digest(token.as_bytes()).into(), taken)
}

/// The digest of a token, and which tokens were taken when it was checked.
type TokenKey = ([u8; 32], Taken);

/// Asks, and believes the answers for a while.
pub struct Reviews {
    api: ApiClient,
    places: Semaphore,
    users: Mutex<Cache<TokenKey, Option<User>>>,
    rights: Mutex<Cache<([u8; 32], Right), bool>>,
}

/// Answers that are not old.
struct Cache<K, V>(HashMap<K, (Instant, V)>);

impl<K: Hash + Eq, V: Clone> Cache<K, V> {
    fn get(&self, key: &K) -> Option<V> {
        self.0.get(key).filter(|(at, _)| at.elapsed() < CACHE_TTL).map(|(_, value)| value.clone())
    }

    fn put(&mut self, key: K, value: V) {
        if self.0.len() >= MAX_CACHED_ANSWERS {
            self.0.retain(|_, (at, _)| at.elapsed() < CACHE_TTL);
        }
        if self.0.len() < MAX_CACHED_ANSWERS {
            self.0.insert(key, (Instant::now(), value));
        }
    }
}

impl Reviews {
    /// Asks through `client`.
    pub fn new(client: Client, request_timeout: Duration) -> Self {
        let api = ApiClient::new(client, Limits::new(request_timeout, MAX_REVIEW_BYTES));
        let places = Semaphore::new(MAX_CONCURRENT_REVIEWS);
        let (users, rights) = (Mutex::new(Cache(HashMap::new())), Mutex::new(Cache(HashMap::new())));
        Reviews { api, places, users, rights }
    }

    /// What was said of a token a moment ago, if it was asked.
    pub fn known(&self, token: &str, taken: Taken) -> Option<Option<User>> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner).get(&digest(token, taken))
    }

    /// The user of a token; none where the API server does not know it, or it is made for others.
    pub async fn user(&self, token: &str, taken: Taken) -> Result<Option<User>, NotReviewed> {
        if let Some(known) = self.known(token, taken) {
            return Ok(known);
        }
        let mut user = self.reviewed(json!({"token": token, "audiences": [SERVICE_AUDIENCE]})).await?;
        if user.is_none() && taken == Taken::ApiServers {
            user = self.reviewed(json!({"token": token})).await?;
        }
        self.users.lock().unwrap_or_else(PoisonError::into_inner).put(digest(token, taken), user.clone());
        Ok(user)
    }

    async fn reviewed(&self, spec: Value) -> Result<Option<User>, NotReviewed> {
        let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec});
        let status = self.review("/apis/authentication.k8s.io/v1/tokenreviews", &review).await?;
        // An authenticator that knows of no audience answers as if none were asked for, and names none.
        let is_for = |wanted: &Value| status["audiences"].as_array().is_some_and(|all| all.contains(wanted));
        let is_for_it = review["spec"]["audiences"].as_array().is_none_or(|wanted| wanted.iter().all(is_for));
        let is_known = status["authenticated"] == true && is_for_it;
        let user = is_known.then(|| serde_json::from_value::<User>(status["user"].clone()).ok()).flatten();
        Ok(user.filter(|user| !user.username.is_empty()))
    }

    /// Which of these the user may do. All are asked before any answer is used, so that the time it takes says nothing.
    pub async fn allowed(&self, user: &User, asked: Vec<Access>) -> Result<HashMap<Access, bool>, NotReviewed> {
        let who = &user.digest();
        let answers = futures::stream::iter(asked).map(|access| async move {
            let allowed = self.known_or_asked(user, who, &Right::Read(access.clone())).await?;
            Ok((access, allowed))
        });
        let answers: Vec<Result<(Access, bool), NotReviewed>> =
            answers.buffer_unordered(MAX_CONCURRENT_REVIEWS).collect().await;
        answers.into_iter().collect()
    }

    /// Whether the user may do it.
    pub async fn may(&self, user: &User, right: &Right) -> Result<bool, NotReviewed> {
        self.known_or_asked(user, &user.digest(), right).await
    }

    async fn known_or_asked(&self, user: &User, who: &[u8; 32], right: &Right) -> Result<bool, NotReviewed> {
        let key = (*who, right.clone());
        if let Some(known) = self.rights.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(known);
        }
        let mut spec = json!({"user": user.username, "uid": user.uid, "groups": user.groups, "extra": user.extra});
        match right {
            Right::Read(Access { verb, group, plural, namespace }) => {
                let namespace = namespace.as_deref().unwrap_or_default();
                spec["resourceAttributes"] =
                    json!({"verb": verb, "group": group, "resource": plural, "namespace": namespace});
            }
            Right::Path(path) => spec["nonResourceAttributes"] = json!({"verb": "get", "path": path}),
        }
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec
        });
        let status = self.review("/apis/authorization.k8s.io/v1/subjectaccessreviews", &review).await?;
        let allowed = status["allowed"] == true && status["denied"] != true;
        self.rights.lock().unwrap_or_else(PoisonError::into_inner).put(key, allowed);
        Ok(allowed)
    }

    async fn review(&self, path: &str, review: &Value) -> Result<Value, NotReviewed> {
        let _place = self.places.acquire().await.map_err(|_| NotReviewed)?;
        let sent = self.api.send(Method::POST, path, Content::Json(review)).await;
        let answer = sent.and_then(Response::success).and_then(|answer| answer.json::<Value>());
        answer.map(|mut answer| answer["status"].take()).map_err(|_| NotReviewed)
    }
}
