// Package certwatcher shows as evidence what the certwatcher of controller-runtime has in use: the certificate that a webhook or metrics server presents.
//
// A certwatcher follows a certificate and its key, and no CAs. A server that verifies its clients names their CAs by [Verifying].
package certwatcher

import (
	"crypto/tls"
	"crypto/x509"

	"handover.dev/go/evidence"
)

// Watcher is what handshakes ask a *certwatcher.CertWatcher for: sigs.k8s.io/controller-runtime/pkg/certwatcher. Its one callback stays free for the
// program.
type Watcher interface {
	GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
}

// Option changes what a source shows.
type Option func(*source)

// Verifying adds the CAs with which the server verifies its clients, as they are in use at the moment of the call. Default: it verifies none.
func Verifying(anchors func() []*x509.Certificate) Option {
	return func(s *source) { s.anchors = anchors }
}

type source struct {
	watcher Watcher
	path    string
	anchors func() []*x509.Certificate
}

// Source shows the certificate of a watcher; path is its file, for people. Give it to [evidence.Handler] or [evidence.WriteMetrics].
func Source(watcher Watcher, path string, options ...Option) evidence.Source {
	made := &source{watcher: watcher, path: path}
	for _, option := range options {
		option(made)
	}
	return made
}

// Loaded tells what handshakes get at this moment. A file that the watcher refused is not in use, and does not show.
func (s *source) Loaded() evidence.Loaded {
	shown := evidence.Loaded{Path: s.path}
	if certificate, err := s.watcher.GetCertificate(nil); err == nil {
		shown.Leaf = evidence.LeafOf(certificate)
		shown.Chain = evidence.ChainOf(certificate)
	}
	if s.anchors != nil {
		shown.Anchors = s.anchors()
	}
	return shown
}
