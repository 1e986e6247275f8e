//! The state of the cluster: the files and, below them, the recording, held in memory and kept fresh.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::Store;
use crate::catalog::Catalog;
use crate::detector::Detector;
use crate::faults::Injector;
use crate::feed::{Change, Feed};
use crate::object::{Form, Key, Object, render};
use crate::recording::Recording;
use crate::selector::Selection;
use crate::store::{self, FAULTS, Stamp, TOKENS};

type Objects = BTreeMap<Key, Arc<Object>>;

/// Everything that requests are answered from.
#[derive(Debug)]
pub(crate) struct World {
    store: Store,
    catalog: Arc<Catalog>,
    detector: Detector,
    /// By resource.
    objects: Vec<Objects>,
    recorded: Vec<Objects>,
    stamps: HashMap<(usize, Key), Stamp>,
    /// Files that do not hold an object, and why.
    unreadable: BTreeMap<PathBuf, String>,
    version: u64,
    pub(crate) feed: Feed,
    pub(crate) injector: Injector,
    pub(crate) tokens: Option<Vec<String>>,
}

impl World {
    /// Reads everything there is.
    pub(crate) fn new(store: &Store, catalog: Arc<Catalog>, recording: Option<&Recording>) -> anyhow::Result<Self> {
        let none = || vec![Objects::new(); catalog.len()];
        let mut recorded = recording.map_or_else(none, |recording| recording.objects(&catalog));
        for prepared in store.prepared() {
            let home = catalog.in_dir(prepared.dir()).with_context(|| format!("no resource {}", prepared.dir()))?;
            recorded[home].insert(prepared.key(), Arc::new(Object::prepared(Arc::clone(prepared))));
        }
        let mut world = Self {
            detector: Detector::new(store.root())?,
            store: store.clone(),
            objects: recorded.clone(),
            recorded,
            stamps: HashMap::new(),
            unreadable: BTreeMap::new(),
            // Microseconds, so that a fake that is started again is newer than every version of
            // the old one, however fast that one was written to.
            version: u64::try_from(jiff::Timestamp::now().as_microsecond()).unwrap_or_default(),
            feed: Feed::new(0),
            injector: Injector::default(),
            tokens: None,
            catalog,
        };
        for file in world.detector.everything()? {
            world.look_at(&file);
        }
        world.feed = Feed::new(world.version);
        Ok(world)
    }

    /// The detector's descriptor: readable when [`World::refresh`] has something to do.
    pub(crate) fn descriptor(&self) -> anyhow::Result<std::os::fd::OwnedFd> {
        self.detector.descriptor()
    }

    /// Takes in what other processes have written.
    pub(crate) fn refresh(&mut self) -> anyhow::Result<()> {
        let happened = self.detector.drain()?;
        for file in &happened.files {
            self.look_at(file);
        }
        if happened.look_everywhere {
            let known: Vec<(usize, Key)> = self.stamps.keys().cloned().collect();
            for (home, key) in known {
                self.look_at_object(home, key);
            }
            for file in self.detector.everything()? {
                self.look_at(&file);
            }
        }
        Ok(())
    }

    /// Says which files cannot be understood, if there are any.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        match self.unreadable.values().next() {
            Some(why) => Err(anyhow::anyhow!("{why}")),
            None => Ok(()),
        }
    }

    /// `metadata.resourceVersion` of a list.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn get(&self, resource: usize, key: &Key) -> Option<Arc<Object>> {
        self.objects[self.catalog.home(resource)].get(key).cloned()
    }

    /// A namespace that objects lie in, where the store lets it exist ([`Store::with_namespaces_of_objects`]).
    pub(crate) fn namespace_in_use(&self, resource: usize, key: &Key) -> Option<Arc<Object>> {
        let has_any = |objects: &Objects| {
            let first = objects.range((key.1.clone(), String::new())..).next();
            first.is_some_and(|((namespace, _), _)| *namespace == key.1)
        };
        let is_in_use = self.store.has_namespaces_of_objects()
            && self.catalog.get(resource).is("", "namespaces")
            && self.objects.iter().any(has_any);
        is_in_use.then(|| Arc::new(Object::new(json!({}), key, self.version)))
    }

    /// The selected objects in their order, those behind `after` only.
    pub(crate) fn select<'a>(
        &'a self,
        resource: usize,
        selection: &'a Selection,
        after: Option<&Key>,
    ) -> impl Iterator<Item = (&'a Key, &'a Arc<Object>)> {
        let first = match (after, &selection.namespace) {
            (Some(after), _) => std::ops::Bound::Excluded(after.clone()),
            (None, Some(namespace)) => std::ops::Bound::Included((namespace.clone(), String::new())),
            (None, None) => std::ops::Bound::Unbounded,
        };
        let namespace = selection.namespace.as_deref();
        let words = selection.words();
        let is_meant = move |object: &Object| {
            selection.is_everything()
                || selection.excludes_only(|word| object.lacks(word))
                || (object.may_hold(&words) && selection.matches(&object.glance()))
        };
        self.objects[self.catalog.home(resource)]
            .range((first, std::ops::Bound::Unbounded))
            .take_while(move |(key, _)| namespace.is_none_or(|namespace| key.0 == namespace))
            .filter(move |(_, object)| is_meant(object))
    }

    /// Adds or replaces an object.
    pub(crate) fn put(&mut self, resource: usize, key: Key, value: Value) -> anyhow::Result<Arc<Object>> {
        let home = self.catalog.home(resource);
        let version = self.next_version();
        let object = Arc::new(Object::new(value, &key, version));
        let mut text = String::new();
        render(&mut text, self.catalog.get(home), &object, Form::Whole, false);
        let stamp = store::write(&self.path(home, &key)?, text.as_bytes())?;
        self.stamps.insert((home, key.clone()), stamp);
        self.commit(home, key, Some(Arc::clone(&object)), version);
        Ok(object)
    }

    /// Removes an object.
    pub(crate) fn remove(&mut self, resource: usize, key: &Key) -> anyhow::Result<()> {
        let home = self.catalog.home(resource);
        let path = self.path(home, key)?;
        if self.recorded[home].contains_key(key) {
            let stamp = store::write(&path, b"null")?;
            self.stamps.insert((home, key.clone()), stamp);
        } else {
            self.store.remove(&self.catalog.get(home).dir, Some(&key.0), &key.1)?;
            self.stamps.remove(&(home, key.clone()));
        }
        let version = self.next_version();
        self.commit(home, key.clone(), None, version);
        Ok(())
    }

    fn path(&self, home: usize, key: &Key) -> anyhow::Result<PathBuf> {
        self.store.place(&self.catalog.get(home).dir, Some(&key.0), &key.1)
    }

    fn next_version(&mut self) -> u64 {
        self.version += 1;
        self.version
    }

    fn look_at(&mut self, file: &Path) {
        if file == Path::new(FAULTS) {
            let error = self.store.faults().map(|faults| self.injector = Injector::new(faults)).err();
            self.note(file, error);
        } else if file == Path::new(TOKENS) {
            let error = self.store.tokens().map(|tokens| self.tokens = tokens).err();
            self.note(file, error);
        } else if let Some((home, key)) = self.place_of(file) {
            self.look_at_object(home, key);
        }
    }

    fn note(&mut self, file: &Path, error: Option<anyhow::Error>) {
        match error {
            Some(error) => self.unreadable.insert(file.to_owned(), format!("{error:#}")),
            None => self.unreadable.remove(file),
        };
    }

    /// Which object a file holds.
    fn place_of(&self, file: &Path) -> Option<(usize, Key)> {
        let name = file.file_stem()?.to_str()?.to_owned();
        let dir = file.parent()?;
        if let Some(home) = self.catalog.in_dir(dir.to_str()?) {
            return (!self.catalog.get(home).namespaced).then(|| (home, (String::new(), name)));
        }
        let home = self.catalog.in_dir(dir.parent()?.to_str()?)?;
        let namespace = dir.file_name()?.to_str()?.to_owned();
        self.catalog.get(home).namespaced.then_some((home, (namespace, name)))
    }

    fn look_at_object(&mut self, home: usize, key: Key) {
        let Ok(path) = self.path(home, &key) else { return };
        let read = Stamp::of(&path).and_then(|stamp| match stamp {
            Some(stamp) if self.stamps.get(&(home, key.clone())) == Some(&stamp) => Ok(None),
            Some(stamp) => store::read(&path).map(|value| Some((Some(stamp), value))),
            None => Ok(Some((None, None))),
        });
        let (stamp, value) = match read {
            Ok(Some(found)) => found,
            Ok(None) => return,
            Err(error) => return self.note(&path, Some(error)),
        };
        self.note(&path, None);
        let place = (home, key);
        let new = match (&stamp, value) {
            // Hidden by a file that says so.
            (Some(_), None) => None,
            (Some(_), Some(value)) => Some(Arc::new(Object::new(value, &place.1, self.version + 1))),
            (None, _) => self.recorded[home].get(&place.1).cloned(),
        };
        match stamp {
            Some(stamp) => self.stamps.insert(place.clone(), stamp),
            None => self.stamps.remove(&place),
        };
        let same = match (self.objects[home].get(&place.1), &new) {
            (Some(old), Some(new)) => old.same_as(new),
            (None, None) => true,
            _ => false,
        };
        if !same {
            let version = self.next_version();
            let new = new.map(|new| if new.version == version { new } else { Arc::new(new.at(version)) });
            self.commit(home, place.1, new, version);
        }
    }

    fn commit(&mut self, home: usize, key: Key, new: Option<Arc<Object>>, version: u64) {
        let old = match &new {
            Some(new) => self.objects[home].insert(key, Arc::clone(new)),
            None => self.objects[home].remove(&key),
        };
        self.feed.tell(Change { version, home, old, new });
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    fn names(world: &World) -> Vec<String> {
        let pods = world.catalog.find("v1", "pods").unwrap();
        world.select(pods, &Selection::default(), None).map(|(key, _)| format!("{}/{}", key.0, key.1)).collect()
    }

    #[test]
    fn nothing_is_missed_when_the_kernel_tells_of_too_much() {
        let limit = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
        let files = limit.trim().parse::<usize>().unwrap().min(100_000) / 2 + 500;
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(dir.path());
        store.put_pod("ns", "first", &json!({})).unwrap();
        let mut world = World::new(&store, Arc::new(Catalog::new()), None).unwrap();
        // Two events each, and the last ones find the queue full.
        for number in 0..files {
            fs::write(dir.path().join(format!("pods/ns/{number}.json")), "{}").unwrap();
        }
        store.remove_pod("ns", "first").unwrap();
        world.refresh().unwrap();
        world.check().unwrap();
        let found = names(&world);
        assert_eq!(found.len(), files);
        assert!(!found.contains(&"ns/first".to_owned()));
        store.put_pod("late", "one", &json!({})).unwrap();
        world.refresh().unwrap();
        assert_eq!(names(&world).len(), files + 1, "it goes on after that");
    }

    #[test]
    fn an_own_write_is_not_taken_for_another_ones() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(dir.path());
        let mut world = World::new(&store, Arc::new(Catalog::new()), None).unwrap();
        let pods = world.catalog.find("v1", "pods").unwrap();
        let key = ("ns".to_owned(), "a".to_owned());
        let version = world.put(pods, key.clone(), json!({"spec": {}})).unwrap().version;
        world.refresh().unwrap();
        assert_eq!(world.version(), version);
        store.put_pod("ns", "a", &json!({"spec": {"x": 1}})).unwrap();
        world.refresh().unwrap();
        assert_eq!(world.get(pods, &key).unwrap().value["spec"]["x"], 1);
        world.remove(pods, &key).unwrap();
        let version = world.version();
        world.refresh().unwrap();
        assert_eq!((world.get(pods, &key).is_none(), world.version()), (true, version));
    }
}
