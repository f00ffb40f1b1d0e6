package follow

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"sync"
	"time"
)

// ticketKeyLife bounds how long one key protects session tickets, as crypto/tls itself does.
const ticketKeyLife = 24 * time.Hour

// Server returns a configuration for servers. Each new connection gets the certificate and the client CAs that are in use then. When
// the folder holds a bundle, clients must show a certificate of one of its CAs.
//
// Session ticket keys are new at each change, so that a client of a removed CA cannot come back by resumption.
//
// Changes are applied to each configuration that is built: ciphers of a profile, a weaker ClientAuth, other NextProtos. The default
// of NextProtos is that of net/http: h2 and http/1.1. Certificates, ClientCAs and ticket keys always come from the folder.
func (f *Folder) Server(changes ...func(*tls.Config)) *tls.Config {
	s := &server{folder: f, changes: changes}
	outer := s.build(f.inUse.Load())
	outer.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.current(), nil }
	return outer
}

type server struct {
	folder  *Folder
	changes []func(*tls.Config)

	mutex  sync.Mutex
	of     *loaded
	config *tls.Config
	until  time.Time
}

func (s *server) current() *tls.Config {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	now := s.folder.settings.now()
	if inUse := s.folder.inUse.Load(); s.of != inUse || now.After(s.until) {
		s.of, s.config, s.until = inUse, s.build(inUse), now.Add(ticketKeyLife)
	}
	return s.config
}

func (s *server) build(from *loaded) *tls.Config {
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	if from.pool != nil {
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	for _, change := range s.changes {
		change(config)
	}
	config.Certificates = nil
	config.GetCertificate = nil
	config.GetConfigForClient = nil
	if from.identity != nil {
		config.Certificates = []tls.Certificate{*from.identity}
	}
	config.ClientCAs = from.pool
	if config.ClientCAs == nil {
		// Nil would verify clients with the roots of the system: without a bundle no client is accepted by its certificate.
		config.ClientCAs = x509.NewCertPool()
	}
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails: crypto/rand ends the program instead
	config.SetSessionTicketKeys([][32]byte{key})
	return config
}
