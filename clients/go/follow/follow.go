// Package follow keeps the TLS of a program on its certificate files: a CA rotation needs no restart.
//
// A [Folder] polls a directory with tls.crt, tls.key and ca.crt: a mounted Secret with the kubelet's ..data link, or plain files. New
// files are read together, checked whole, and then swapped in. When they cannot be used, the last good ones stay in use and the
// status document says why.
package follow

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"handover.dev/go/evidence"
	"handover.dev/go/internal/material"
)

// Error says why files cannot be used: Code is stable, Path names the file.
type Error = material.Error

// maxBytes is more than Kubernetes keeps in an object, and four times all public roots.
const maxBytes = 4 << 20

type settings struct {
	cert, key, ca string
	poll          time.Duration
	log           *slog.Logger
	now           func() time.Time
}

// Option changes how a folder is followed.
type Option func(*settings)

// Names sets the names of the files: chain, key, bundle. The default is tls.crt, tls.key and ca.crt. Without names of chain and key
// the folder holds trust alone, without a name of the bundle an identity alone.
func Names(cert, key, ca string) Option {
	return func(s *settings) { s.cert, s.key, s.ca = cert, key, ca }
}

// Poll sets the time between two looks at the files. The default is one second.
func Poll(every time.Duration) Option {
	return func(s *settings) { s.poll = every }
}

// Logger reports each change, and each failure once. The default is slog's.
func Logger(log *slog.Logger) Option {
	return func(s *settings) { s.log = log }
}

// loaded is immutable: it is built whole and then swapped in.
type loaded struct {
	digest   [sha256.Size]byte
	identity *tls.Certificate
	anchors  []*x509.Certificate
	pool     *x509.CertPool
	loads    int
	at       time.Time
}

// Folder is a directory of certificate files that is followed. It is an [evidence.Source].
type Folder struct {
	dir      string
	settings settings
	inUse    atomic.Pointer[loaded]
	end      context.CancelFunc
	ended    chan struct{}

	reading   sync.Mutex // one reload at a time
	mutex     sync.Mutex // guards what follows
	failure   *evidence.Failure
	listeners []func()
}

// Open reads the files of a directory and follows them until the context ends. It fails when the files cannot be used.
func Open(ctx context.Context, dir string, options ...Option) (*Folder, error) {
	s := settings{cert: "tls.crt", key: "tls.key", ca: "ca.crt", poll: time.Second, log: slog.Default(), now: time.Now}
	for _, option := range options {
		option(&s)
	}
	if s.poll <= 0 {
		return nil, errors.New("follow: Poll needs a time above 0")
	}
	if (s.cert == "") != (s.key == "") || (s.cert == "" && s.ca == "") {
		return nil, errors.New("follow: Names needs a chain with its key, a bundle, or both")
	}
	f := &Folder{dir: dir, settings: s, ended: make(chan struct{})}
	if err := f.Reload(); err != nil {
		return nil, err
	}
	ctx, f.end = context.WithCancel(ctx)
	go f.run(ctx)
	return f, nil
}

// Close ends following, as the end of the context does. The last good material stays usable.
func (f *Folder) Close() {
	f.end()
	<-f.ended
}

func (f *Folder) run(ctx context.Context) {
	defer close(f.ended)
	ticker := time.NewTicker(f.settings.poll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			_ = f.Reload() // logged, and in the status document
		}
	}
}

// Reload reads the files now. When they cannot be used, it returns the error and the last good material stays in use.
func (f *Folder) Reload() error {
	f.reading.Lock()
	defer f.reading.Unlock()
	next, err := f.read()
	before := f.inUse.Load()
	if err != nil {
		f.keep(before, err)
		return err
	}
	if before != nil && before.digest == next.digest {
		f.recover(before)
		return nil
	}
	next.loads = 1
	if before != nil {
		next.loads = before.loads + 1
	}
	f.mutex.Lock()
	f.inUse.Store(next)
	f.failure = nil
	listeners := f.listeners
	f.mutex.Unlock()
	for _, listener := range listeners {
		listener()
	}
	if before != nil {
		f.settings.log.Info("certificate files reloaded", "dir", f.dir, "loads", next.loads)
	}
	return nil
}

func (f *Folder) keep(before *loaded, err error) {
	var why *Error
	if before == nil || !errors.As(err, &why) {
		return
	}
	f.mutex.Lock()
	isNew := f.failure == nil || f.failure.Code != why.Code || f.failure.Path != why.Path
	if isNew {
		f.failure = &evidence.Failure{Reason: why.Reason(), Code: why.Code, Path: why.Path, At: f.settings.now().UTC()}
	}
	f.mutex.Unlock()
	if isNew {
		f.settings.log.Warn("the last good certificate files stay in use", "dir", f.dir, "code", why.Code, "error", why.Error())
	}
}

func (f *Folder) recover(same *loaded) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.failure != nil && f.inUse.Load() == same {
		f.failure = nil
	}
}

// Loaded tells what is in use, for [evidence.Handler].
func (f *Folder) Loaded() evidence.Loaded {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	now := f.inUse.Load()
	first := f.settings.cert
	if first == "" {
		first = f.settings.ca
	}
	return evidence.Loaded{
		Path:     filepath.Join(f.dir, first),
		Anchors:  now.anchors,
		Leaf:     evidence.LeafOf(now.identity),
		Chain:    evidence.ChainOf(now.identity),
		Loads:    now.loads,
		LoadedAt: now.at,
		Failure:  f.failure,
	}
}

// onSwap calls the function after each change.
func (f *Folder) onSwap(listener func()) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.listeners = append(f.listeners, listener)
}

// read builds new material, or says why it cannot be used.
func (f *Folder) read() (*loaded, error) {
	contents, err := f.contents()
	if err != nil {
		return nil, err
	}
	s := f.settings
	next := &loaded{at: s.now()}
	hash := sha256.New()
	for _, name := range []string{s.cert, s.key, s.ca} {
		sum := sha256.Sum256(contents[name])
		hash.Write(sum[:])
	}
	copy(next.digest[:], hash.Sum(nil))
	// The files in use are good, whatever the clock says now: an expired leaf is replaced by a new one, and by nothing else.
	if before := f.inUse.Load(); before != nil && before.digest == next.digest {
		return next, nil
	}
	if s.cert != "" {
		certPath, keyPath := filepath.Join(f.dir, s.cert), filepath.Join(f.dir, s.key)
		if next.identity, err = material.Identity(contents[s.cert], certPath, contents[s.key], keyPath, next.at); err != nil {
			return nil, err
		}
	}
	if s.ca != "" {
		if next.anchors, err = material.Bundle(contents[s.ca], filepath.Join(f.dir, s.ca)); err != nil {
			return nil, err
		}
		next.pool = x509.NewCertPool()
		for _, anchor := range next.anchors {
			next.pool.AddCert(anchor)
		}
	}
	return next, nil
}

// dataLink is the link that the kubelet replaces when a volume changes.
const dataLink = "..data"

// contents reads all files from one version of the volume.
func (f *Folder) contents() (map[string][]byte, error) {
	const tries = 5 // a volume that changes faster than that is read at the next poll
	for try := 1; ; try++ {
		version, _ := os.Readlink(filepath.Join(f.dir, dataLink)) // plain files have none
		contents, err := f.contentsOf(version)
		after, _ := os.Readlink(filepath.Join(f.dir, dataLink))
		if after == version || try == tries {
			if err == nil && after != version {
				err = material.Refuse("FILE_UNREADABLE", f.dir, "the volume changed while its files were read")
			}
			return contents, err
		}
	}
}

func (f *Folder) contentsOf(version string) (map[string][]byte, error) {
	contents := map[string][]byte{}
	for _, name := range []string{f.settings.cert, f.settings.key, f.settings.ca} {
		if name == "" {
			continue
		}
		path := filepath.Join(f.dir, name)
		real := path
		if target, err := os.Readlink(path); err == nil && version != "" && target == filepath.Join(dataLink, name) {
			real = filepath.Join(f.dir, version, name)
			if filepath.IsAbs(version) {
				real = filepath.Join(version, name)
			}
		}
		text, err := material.ReadFile(real, path, maxBytes)
		if err != nil {
			return nil, err
		}
		contents[name] = text
	}
	return contents, nil
}
