package follow_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"handover.dev/go/follow"
	"handover.dev/go/internal/testca"
)

var quiet = follow.Logger(slog.New(slog.NewTextHandler(io.Discard, nil)))

func open(t *testing.T, dir string, options ...follow.Option) *follow.Folder {
	t.Helper()
	folder, err := follow.Open(t.Context(), dir, append([]follow.Option{quiet, follow.Poll(time.Hour)}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(folder.Close)
	return folder
}

func serve(t *testing.T, config *tls.Config) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		_, _ = io.WriteString(response, request.Proto)
	}))
	server.TLS = config
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	server.URL = strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	return server
}

func get(client http.RoundTripper, url string) (string, error) {
	response, err := (&http.Client{Transport: client, Timeout: 5 * time.Second}).Get(url)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

func codeOf(err error) string {
	var refused *follow.Error
	if errors.As(err, &refused) {
		return refused.Code
	}
	return ""
}

func TestServerAndTransportTalkThroughARotation(t *testing.T) {
	ca1, ca2 := testca.CA("ca1"), testca.CA("ca2")
	here, there := t.TempDir(), t.TempDir()
	testca.Write(here, ca1.Leaf("server", time.Hour), ca1)
	testca.Write(there, ca1.Leaf("client", time.Hour), ca1)
	serverFolder, clientFolder := open(t, here), open(t, there)
	server := serve(t, serverFolder.Server())
	client := clientFolder.Transport()
	for step, write := range []func(){
		func() {},
		func() {
			testca.Write(here, ca1.Leaf("server", time.Hour), ca2, ca1)
			testca.Write(there, ca1.Leaf("client", time.Hour), ca2, ca1)
		},
		func() { testca.Write(here, ca2.Leaf("server", time.Hour), ca2, ca1) },
		func() { testca.Write(there, ca2.Leaf("client", time.Hour), ca2, ca1) },
		func() {
			testca.Write(here, ca2.Leaf("server", time.Hour), ca2)
			testca.Write(there, ca2.Leaf("client", time.Hour), ca2)
		},
	} {
		write()
		if err := errors.Join(serverFolder.Reload(), clientFolder.Reload()); err != nil {
			t.Fatal(err)
		}
		if text, err := get(client, server.URL); err != nil || text != "HTTP/2.0" {
			t.Fatalf("step %d: %q, %v", step, text, err)
		}
	}
	if loaded := clientFolder.Loaded(); loaded.Loads != 4 || len(loaded.Anchors) != 1 || !loaded.Anchors[0].Equal(ca2.Certificate) {
		t.Fatalf("loads %d, anchors %d", loaded.Loads, len(loaded.Anchors))
	}
}

func TestARemovedCACannotComeBackByResumption(t *testing.T) {
	ca1, ca2 := testca.CA("ca1"), testca.CA("ca2")
	dir := t.TempDir()
	testca.Write(dir, ca2.Leaf("server", time.Hour), ca1, ca2)
	folder := open(t, dir)
	server := serve(t, folder.Server())
	old := ca1.Leaf("client", time.Hour)
	identity, err := tls.X509KeyPair(old.PEM, old.KeyPEM)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca2.Certificate)
	config := &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{identity}, ClientSessionCache: tls.NewLRUClientSessionCache(1)}
	call := func() (bool, error) {
		client := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}
		response, err := (&http.Client{Transport: client}).Get(server.URL)
		if err != nil {
			return false, err
		}
		_, _ = io.Copy(io.Discard, response.Body)
		return response.TLS.DidResume, response.Body.Close()
	}
	for _, expected := range []bool{false, true} {
		if resumed, err := call(); err != nil || resumed != expected {
			t.Fatalf("resumed %v, %v", resumed, err)
		}
	}
	testca.Write(dir, ca2.Leaf("server", time.Hour), ca2)
	if err := folder.Reload(); err != nil {
		t.Fatal(err)
	}
	if _, err := call(); err == nil {
		t.Fatal("a client of the removed CA was served")
	}
}

func TestTheLastGoodMaterialStays(t *testing.T) {
	ca, other := testca.CA("ca"), testca.CA("other")
	leaf := ca.Leaf("leaf", time.Hour)
	for code, spoil := range map[string]struct {
		file string
		text []byte
	}{
		"FILE_EMPTY":                {"tls.crt", nil},
		"PEM_TRUNCATED":             {"ca.crt", ca.PEM[:len(ca.PEM)/2]},
		"PEM_BAD_BOUNDARY":          {"ca.crt", append(ca.PEM[:len(ca.PEM)-1:len(ca.PEM)-1], ca.PEM...)},
		"PEM_BAD_BASE64":            {"ca.crt", []byte("-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n")},
		"PEM_BINARY":                {"ca.crt", ca.Certificate.Raw},
		"CERTIFICATE_MALFORMED":     {"ca.crt", []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")},
		"KEY_MISMATCH":              {"tls.crt", ca.Leaf("leaf", time.Hour).PEM},
		"KEY_MISSING":               {"tls.key", leaf.PEM},
		"KEY_AMBIGUOUS":             {"tls.key", append(leaf.KeyPEM[:len(leaf.KeyPEM):len(leaf.KeyPEM)], leaf.KeyPEM...)},
		"PEM_PRIVATE_KEY_IN_BUNDLE": {"ca.crt", append(ca.PEM[:len(ca.PEM):len(ca.PEM)], leaf.KeyPEM...)},
		"BUNDLE_NO_CA":              {"ca.crt", other.Leaf("leaf", time.Hour).PEM},
		"BUNDLE_EMPTY":              {"ca.crt", []byte("# no CA yet\n")},
	} {
		dir := t.TempDir()
		testca.Write(dir, leaf, ca)
		folder := open(t, dir)
		if err := os.WriteFile(filepath.Join(dir, spoil.file), spoil.text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := folder.Reload(); codeOf(err) != code {
			t.Errorf("%s: %v", code, err)
		}
		loaded := folder.Loaded()
		if loaded.Failure == nil || loaded.Failure.Code != code || loaded.Loads != 1 || !loaded.Leaf.Equal(leaf.Certificate) {
			t.Errorf("%s: %+v", code, loaded)
		}
		testca.Write(dir, leaf, ca)
		if err := folder.Reload(); err != nil || folder.Loaded().Failure != nil || folder.Loaded().Loads != 1 {
			t.Errorf("%s stays in the status: %v", code, err)
		}
		if _, err := follow.Open(t.Context(), filepath.Join(dir, "none"), quiet); codeOf(err) != "FILE_MISSING" {
			t.Errorf("a missing folder: %v", err)
		}
	}
}

func TestAnExpiredLeafIsRefused(t *testing.T) {
	ca := testca.CA("ca")
	dir := t.TempDir()
	testca.Write(dir, ca.Leaf("leaf", -time.Minute), ca)
	if _, err := follow.Open(t.Context(), dir, quiet); codeOf(err) != "CERTIFICATE_EXPIRED" {
		t.Fatal(err)
	}
}

func TestALeafBesideCAsIsNoAnchor(t *testing.T) {
	ca, other := testca.CA("ca"), testca.CA("other")
	stray := other.Leaf("server", time.Hour)
	dir := t.TempDir()
	testca.Write(dir, ca.Leaf("leaf", time.Hour), ca, stray)
	client := open(t, dir).Transport()
	identity, err := tls.X509KeyPair(stray.PEM, stray.KeyPEM)
	if err != nil {
		t.Fatal(err)
	}
	server := serve(t, &tls.Config{Certificates: []tls.Certificate{identity}})
	if _, err := get(client, server.URL); err == nil {
		t.Fatal("a leaf in the bundle was trusted as its own anchor")
	}
}

func TestNothingTurnsVerificationOff(t *testing.T) {
	ca, other := testca.CA("ca"), testca.CA("other")
	dir, there := t.TempDir(), t.TempDir()
	testca.Write(dir, ca.Leaf("client", time.Hour), ca)
	testca.Write(there, other.Leaf("server", time.Hour), ca)
	server := serve(t, open(t, there).Server())
	client := open(t, dir).Transport(func(transport *http.Transport) {
		transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	})
	if _, err := get(client, server.URL); err == nil {
		t.Fatal("a server of another CA was accepted")
	}
	trusting := open(t, there, follow.Names("tls.crt", "tls.key", "")).Server(func(config *tls.Config) {
		config.ClientAuth = tls.RequireAndVerifyClientCert
	})
	both := t.TempDir()
	testca.Write(both, ca.Leaf("client", time.Hour), other)
	if _, err := get(open(t, both).Transport(), serve(t, trusting).URL); err == nil {
		t.Fatal("a server without a bundle accepted a client by its certificate")
	}
}

func TestAnUnknownCAIsLookedForInTheFiles(t *testing.T) {
	ca1, ca2 := testca.CA("ca1"), testca.CA("ca2")
	here, there := t.TempDir(), t.TempDir()
	testca.Write(here, ca2.Leaf("server", time.Hour), ca1, ca2)
	testca.Write(there, ca1.Leaf("client", time.Hour), ca1)
	server, client := serve(t, open(t, here).Server()), open(t, there).Transport()
	testca.Write(there, ca1.Leaf("client", time.Hour), ca1, ca2)
	if _, err := get(client, server.URL); err != nil {
		t.Fatal(err)
	}
}

func TestTheEndOfTheContextEndsFollowing(t *testing.T) {
	ca := testca.CA("ca")
	dir := t.TempDir()
	testca.Write(dir, ca.Leaf("leaf", time.Hour), ca)
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(t.Context())
	for range 20 {
		if _, err := follow.Open(ctx, dir, quiet, follow.Poll(time.Millisecond)); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

func TestTicketKeysAreNewAtEachSwap(t *testing.T) {
	ca := testca.CA("ca")
	dir := t.TempDir()
	testca.Write(dir, ca.Leaf("server", time.Hour), ca)
	folder := open(t, dir)
	server := serve(t, folder.Server(func(config *tls.Config) { config.ClientAuth = tls.NoClientCert }))
	roots := x509.NewCertPool()
	roots.AddCert(ca.Certificate)
	config := &tls.Config{RootCAs: roots, ClientSessionCache: tls.NewLRUClientSessionCache(1)}
	for step, expected := range []bool{false, true, false} {
		if step == 2 {
			testca.Write(dir, ca.Leaf("server", time.Hour), ca)
			if err := folder.Reload(); err != nil {
				t.Fatal(err)
			}
		}
		client := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}
		response, err := (&http.Client{Transport: client}).Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if response.TLS.DidResume != expected {
			t.Fatalf("call %d: resumed %v", step, response.TLS.DidResume)
		}
	}
}

func TestASwapClosesIdleConnections(t *testing.T) {
	ca := testca.CA("ca")
	here, there := t.TempDir(), t.TempDir()
	testca.Write(here, ca.Leaf("server", time.Hour), ca)
	testca.Write(there, ca.Leaf("client", time.Hour), ca)
	closed := make(chan struct{}, 10)
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = open(t, here).Server()
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			closed <- struct{}{}
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	folder := open(t, there)
	if _, err := get(folder.Transport(), strings.Replace(server.URL, "127.0.0.1", "localhost", 1)); err != nil {
		t.Fatal(err)
	}
	testca.Write(there, ca.Leaf("client", time.Hour), ca)
	if err := folder.Reload(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-closed:
	case <-time.After(5 * time.Second):
		t.Fatal("the idle connection stays open")
	}
}

func TestWithoutABundleTheRootsOfTheSystemVerifyNoClient(t *testing.T) {
	ca := testca.CA("ca")
	dir := t.TempDir()
	testca.Write(dir, ca.Leaf("server", time.Hour), ca)
	config, err := open(t, dir, follow.Names("tls.crt", "tls.key", "")).Server().GetConfigForClient(nil)
	if err != nil || config.ClientCAs == nil {
		t.Fatal("nil stands for the roots of the system", err)
	}
}

func TestAVolumeOfTheKubeletIsFollowed(t *testing.T) {
	ca := testca.CA("ca")
	dir := t.TempDir()
	swap := func(version string, leaf testca.Issued) {
		t.Helper()
		if err := os.Mkdir(filepath.Join(dir, version), 0o700); err != nil {
			t.Fatal(err)
		}
		testca.Write(filepath.Join(dir, version), leaf, ca)
		link := filepath.Join(dir, "..data_tmp")
		if err := errors.Join(os.Symlink(version, link), os.Rename(link, filepath.Join(dir, "..data"))); err != nil {
			t.Fatal(err)
		}
	}
	swap("..1", ca.Leaf("leaf", time.Hour))
	for _, name := range []string{"tls.crt", "tls.key", "ca.crt"} {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	folder := open(t, dir, follow.Poll(10*time.Millisecond))
	next := ca.Leaf("leaf", time.Hour)
	swap("..2", next)
	for deadline := time.Now().Add(5 * time.Second); !folder.Loaded().Leaf.Equal(next.Certificate); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the new version of the volume is not in use")
		}
	}
	if loaded := folder.Loaded(); loaded.Loads != 2 || loaded.Failure != nil {
		t.Fatalf("loads %d, %+v", loaded.Loads, loaded.Failure)
	}
}
