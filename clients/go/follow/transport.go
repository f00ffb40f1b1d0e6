package follow

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"sync"
	"time"
)

// Transport is an [http.RoundTripper] that follows a folder. Each change makes a new [http.Transport]; idle connections of the old one
// are closed, and requests under way finish on it. So no new request runs over a connection of older trust.
type Transport struct {
	folder  *Folder
	changes []func(*http.Transport)

	mutex    sync.Mutex
	of       *loaded
	current  *http.Transport
	lastLook time.Time
}

// lookAgain is the shortest time between two readings of the files because of an unknown CA.
const lookAgain = time.Second

// Transport returns a transport for clients: it verifies servers with the folder's bundle and shows them the folder's certificate.
// Without a bundle the roots of the system count.
//
// Changes are applied to each http.Transport that is made: limits, a proxy, TLSClientConfig.ServerName. Verification always comes
// from the folder: InsecureSkipVerify and DialTLSContext are reset.
func (f *Folder) Transport(changes ...func(*http.Transport)) *Transport {
	t := &Transport{folder: f, changes: changes}
	t.swap()
	f.onSwap(t.swap)
	return t
}

// RoundTrip makes one request. When the server's CA is unknown, it reads the files again, at most once a second, and tries once more
// if they brought other trust.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	transport, of := t.now()
	response, err := transport.RoundTrip(request)
	var unknown x509.UnknownAuthorityError
	if err == nil || !errors.As(err, &unknown) || !t.look(of) {
		return response, err
	}
	again := request
	if request.Body != nil && request.Body != http.NoBody {
		if request.GetBody == nil {
			return response, err
		}
		body, bodyErr := request.GetBody()
		if bodyErr != nil {
			return response, err
		}
		again = request.Clone(request.Context())
		again.Body = body
	}
	transport, _ = t.now()
	return transport.RoundTrip(again)
}

// CloseIdleConnections closes the connections that no request uses.
func (t *Transport) CloseIdleConnections() {
	transport, _ := t.now()
	transport.CloseIdleConnections()
}

func (t *Transport) now() (*http.Transport, *loaded) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.current, t.of
}

// look reports whether other material than before is in use, after a reading of the files if none was made just now.
func (t *Transport) look(before *loaded) bool {
	t.mutex.Lock()
	now := t.folder.settings.now()
	isDue := now.Sub(t.lastLook) >= lookAgain
	if isDue {
		t.lastLook = now
	}
	t.mutex.Unlock()
	if isDue {
		_ = t.folder.Reload() // logged, and in the status document
	}
	return t.folder.inUse.Load() != before
}

func (t *Transport) swap() {
	t.mutex.Lock()
	inUse := t.folder.inUse.Load()
	if t.of == inUse {
		t.mutex.Unlock()
		return
	}
	old := t.current
	t.of, t.current = inUse, t.build(inUse)
	t.mutex.Unlock()
	if old != nil {
		old.CloseIdleConnections() // and those that become idle later: nothing asks the old one for a connection any more
	}
}

func (t *Transport) build(from *loaded) *http.Transport {
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          100,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12},
	}
	for _, change := range t.changes {
		change(transport)
	}
	config := transport.TLSClientConfig
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	} else {
		config = config.Clone() // it may be one that the caller shares between transports
	}
	config.InsecureSkipVerify = false
	config.ClientSessionCache = nil // a resumed session skips the check of the server's certificate
	config.RootCAs = from.pool
	config.Certificates = nil
	config.GetClientCertificate = nil
	if from.identity != nil {
		identity := from.identity
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return identity, nil }
	}
	transport.TLSClientConfig = config
	transport.DialTLSContext = nil
	return transport
}
