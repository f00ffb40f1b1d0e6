use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, TryLockError, Weak};
use std::thread;
use std::time::{Duration, SystemTime};

use ring::digest::{Context, SHA256, digest};
use rustls::crypto::CryptoProvider;

use crate::Error;
use crate::file::read_all;
use crate::material::{Identity, Trust, read_identity, read_trust};
use crate::status::{Failure, Loaded, Source};
use crate::time::seconds;

/// The shortest time between two readings of the files because of a peer with an unknown CA.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

type OnEvent = Box<dyn Fn(&Event) + Send + Sync>;

/// What a folder reports: see [`Follow::on_event`].
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// New material is in use; the number of loads so far.
    Reloaded(u64),
    /// New files cannot be used, and the last good material stays in use. Told once for each kind of failure.
    Kept(Error),
}

/// How a folder is followed. [`Folder::open`] is enough for `tls.crt`, `tls.key` and `ca.crt`.
pub struct Follow {
    dir: PathBuf,
    identity: Option<(String, String)>,
    ca: Option<String>,
    poll: Duration,
    provider: Arc<CryptoProvider>,
    on_event: OnEvent,
    now: Arc<dyn Fn() -> SystemTime + Send + Sync>,
}

impl Follow {
    /// The files `tls.crt`, `tls.key` and `ca.crt` of this folder, looked at once a second, with ring.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            identity: Some(("tls.crt".into(), "tls.key".into())),
            ca: Some("ca.crt".into()),
            poll: Duration::from_secs(1),
            provider: Arc::new(rustls::crypto::ring::default_provider()),
            on_event: Box::new(|_| ()),
            now: Arc::new(SystemTime::now),
        }
    }

    /// Other names for the chain and its key; `None`: no identity, only a bundle.
    pub fn identity(mut self, names: Option<(&str, &str)>) -> Self {
        self.identity = names.map(|(chain, key)| (chain.into(), key.into()));
        self
    }

    /// Another name for the bundle; `None`: no bundle, only an identity.
    pub fn ca(mut self, name: Option<&str>) -> Self {
        self.ca = name.map(Into::into);
        self
    }

    /// The time between two looks at the files.
    pub fn poll(mut self, every: Duration) -> Self {
        self.poll = every;
        self
    }

    /// Another provider of cryptography.
    pub fn provider(mut self, provider: Arc<CryptoProvider>) -> Self {
        self.provider = provider;
        self
    }

    /// Called after each change and for each new failure, for logs. It must not call [`Folder::reload`].
    pub fn on_event(mut self, listener: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.on_event = Box::new(listener);
        self
    }

    #[cfg(test)]
    pub(crate) fn clock(mut self, now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.now = Arc::new(now);
        self
    }

    /// Reads the files and follows them, in a thread that ends with the last use of the folder.
    ///
    /// # Errors
    /// When the files cannot be used.
    pub fn open(self) -> Result<Folder, Error> {
        let invalid = |why| {
            let path = self.dir.display().to_string();
            Err(Error::new("OPTION_INVALID", &path, why))
        };
        if self.identity.is_none() && self.ca.is_none() {
            return invalid("give a chain with its key, a bundle, or both");
        }
        if self.poll.is_zero() {
            return invalid("poll needs a time above 0");
        }
        let first = read(&self, None)?;
        let poll = self.poll;
        let shared = Arc::new(Shared {
            options: self,
            in_use: RwLock::new(Arc::new(first)),
            failure: Mutex::new(None),
            reading: Mutex::new(None),
        });
        let weak = Arc::downgrade(&shared);
        thread::Builder::new()
            .name("handover".into())
            .spawn(move || follow(&weak, poll))
            .map_err(|error| {
                let path = shared.options.dir.display().to_string();
                Error::new("LOAD_FAILED", &path, format!("no thread: {error}"))
            })?;
        Ok(Folder(shared))
    }
}

fn follow(shared: &Weak<Shared>, poll: Duration) {
    loop {
        thread::sleep(poll);
        match shared.upgrade() {
            None => return,
            // A listener that panics must not end following. Failures are told to it, and in the status document.
            Some(shared) => drop(catch_unwind(AssertUnwindSafe(|| shared.reload()))),
        }
    }
}

/// Built whole, then swapped in.
pub(crate) struct Material {
    digest: [u8; 32],
    pub(crate) identity: Option<Identity>,
    pub(crate) trust: Option<Trust>,
    loads: u64,
    at: SystemTime,
}

pub(crate) struct Shared {
    options: Follow,
    in_use: RwLock<Arc<Material>>,
    failure: Mutex<Option<Failure>>,
    /// Held while the files are read. When they were last read because of a peer with an unknown CA.
    reading: Mutex<Option<SystemTime>>,
}

/// A lock that was held by a thread that panicked: what it guards is replaced whole, and is therefore good.
fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(crate) fn in_use(&self) -> Arc<Material> {
        let guard = self.in_use.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&guard)
    }

    pub(crate) fn provider(&self) -> &Arc<CryptoProvider> {
        &self.options.provider
    }

    fn reload(&self) -> Result<(), Error> {
        let _guard = held(&self.reading);
        self.reload_alone()
    }

    /// Reads the files again for a handshake with an unknown CA, at most once a second, unless they are being read. True when other
    /// material is in use afterwards.
    pub(crate) fn look(&self, before: &Arc<Material>) -> bool {
        let guard = match self.reading.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None, // a file that does not answer must not hold a handshake
        };
        if let Some(mut last) = guard {
            let now = (self.options.now)();
            // A clock that was set back makes it look at once.
            let is_recent =
                |at: SystemTime| now.duration_since(at).is_ok_and(|since| since < LOOK_AGAIN);
            if !last.is_some_and(is_recent) {
                *last = Some(now);
                drop(self.reload_alone());
            }
        }
        !Arc::ptr_eq(before, &self.in_use())
    }

    /// To be called with `reading` held.
    fn reload_alone(&self) -> Result<(), Error> {
        let before = self.in_use();
        match read(&self.options, Some(&before)) {
            Ok(next) if next.digest == before.digest => {
                *held(&self.failure) = None;
                Ok(())
            }
            Ok(next) => {
                let loads = next.loads;
                let next = Arc::new(next);
                // Both under one lock: a status document never shows new material beside an old failure.
                let mut failure = held(&self.failure);
                *self.in_use.write().unwrap_or_else(PoisonError::into_inner) = next;
                *failure = None;
                drop(failure);
                (self.options.on_event)(&Event::Reloaded(loads));
                Ok(())
            }
            Err(error) => {
                self.keep(&error);
                Err(error)
            }
        }
    }

    fn keep(&self, error: &Error) {
        let mut failure = held(&self.failure);
        let is_known = failure
            .as_ref()
            .is_some_and(|known| known.code == error.code && known.path == error.path);
        if is_known {
            return;
        }
        *failure = Some(Failure {
            reason: error.reason(),
            code: error.code,
            path: error.path.clone(),
            at: (self.options.now)(),
        });
        drop(failure);
        (self.options.on_event)(&Event::Kept(error.clone()));
    }
}

fn path_of(dir: &Path, name: &str) -> String {
    dir.join(name).display().to_string()
}

/// New material, or why it cannot be used.
fn read(options: &Follow, before: Option<&Material>) -> Result<Material, Error> {
    let Follow {
        dir, identity, ca, ..
    } = options;
    let mut names: Vec<&str> = Vec::new();
    if let Some((chain, key)) = identity {
        names.extend([chain.as_str(), key.as_str()]);
    }
    names.extend(ca.as_deref());
    let contents = read_all(dir, &names)?;
    let mut hash = Context::new(&SHA256);
    for text in &contents {
        hash.update(digest(&SHA256, text).as_ref());
    }
    let mut next = Material {
        digest: [0; 32],
        identity: None,
        trust: None,
        loads: before.map_or(0, |before| before.loads) + 1,
        at: (options.now)(),
    };
    next.digest.copy_from_slice(hash.finish().as_ref());
    // The files in use are good, whatever the clock says now: an expired leaf is replaced by a new one, and by nothing else.
    if before.is_some_and(|before| before.digest == next.digest) {
        return Ok(next);
    }
    let mut texts = contents.iter();
    let mut text = || texts.next().map_or(&[][..], Vec::as_slice);
    if let Some((chain, key)) = identity {
        let (chain_text, key_text) = (text(), text());
        next.identity = Some(read_identity(
            (chain_text, &path_of(dir, chain)),
            (key_text, &path_of(dir, key)),
            &options.provider,
            seconds(next.at),
        )?);
    }
    if let Some(ca) = ca {
        next.trust = Some(read_trust(text(), &path_of(dir, ca), &options.provider)?);
    }
    Ok(next)
}

/// A directory of certificate files that is followed. Clones follow together; following ends when the last clone, verifier and
/// configuration are dropped.
///
/// New files are read together, checked whole and then swapped in. When they cannot be used, the last good ones stay in use and the
/// status document says why.
#[derive(Clone)]
pub struct Folder(pub(crate) Arc<Shared>);

impl Folder {
    /// Reads `tls.crt`, `tls.key` and `ca.crt` of a directory and follows them. [`Follow`] has other names and options.
    ///
    /// # Errors
    /// When the files cannot be used.
    pub fn open(dir: impl Into<PathBuf>) -> Result<Self, Error> {
        Follow::new(dir).open()
    }

    /// Reads the files now.
    ///
    /// # Errors
    /// When they cannot be used; the last good material stays in use.
    pub fn reload(&self) -> Result<(), Error> {
        self.0.reload()
    }

    /// How often material was loaded: 1 at first. A program that pools connections can make new ones when it grows.
    pub fn loads(&self) -> u64 {
        self.0.in_use().loads
    }
}

impl fmt::Debug for Folder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Folder")
            .field("dir", &self.0.options.dir)
            .field("loads", &self.loads())
            .finish_non_exhaustive()
    }
}

impl Source for Folder {
    fn loaded(&self) -> Loaded {
        let failure = held(&self.0.failure);
        let Follow {
            dir, identity, ca, ..
        } = &self.0.options;
        let in_use = self.0.in_use();
        let first = identity.as_ref().map(|(chain, _)| chain).or(ca.as_ref());
        Loaded {
            path: first.map_or_else(String::new, |name| path_of(dir, name)),
            anchors: in_use
                .trust
                .as_ref()
                .map(|trust| trust.anchors.iter().map(|each| each.der.clone()).collect()),
            leaf: in_use
                .identity
                .as_ref()
                .map(|identity| identity.leaf.clone()),
            chain: in_use
                .identity
                .as_ref()
                .map(|identity| identity.behind.clone()),
            loads: in_use.loads,
            loaded_at: Some(in_use.at),
            failure: failure.clone(),
        }
    }
}
