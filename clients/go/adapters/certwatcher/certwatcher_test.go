package certwatcher_test

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"handover.dev/go/adapters/certwatcher"
	"handover.dev/go/evidence"
	"handover.dev/go/internal/testca"
	upstream "sigs.k8s.io/controller-runtime/pkg/certwatcher"
)

type shown struct {
	Kind    string
	Anchors []string
	Leaf    *struct {
		Fingerprint string
		Chain       []string
	}
}

// asked is what a controller reads.
func asked(t *testing.T, source evidence.Source) shown {
	t.Helper()
	answer := httptest.NewRecorder()
	evidence.Handler(source).ServeHTTP(answer, httptest.NewRequest("GET", evidence.Path, nil))
	var document struct{ Sources []shown }
	if err := json.Unmarshal(answer.Body.Bytes(), &document); err != nil || len(document.Sources) != 1 {
		t.Fatalf("document %s: %v", answer.Body, err)
	}
	return document.Sources[0]
}

func fingerprint(certificate *x509.Certificate) string {
	sum := sha256.Sum256(certificate.Raw)
	return hex.EncodeToString(sum[:])
}

func watched(t *testing.T, leaf testca.Issued, ca testca.Issued) (string, *upstream.CertWatcher) {
	t.Helper()
	dir := t.TempDir()
	testca.Write(dir, leaf, ca)
	watcher, err := upstream.New(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	return dir, watcher
}

func TestACertwatcherShowsTheLeafThatHandshakesGet(t *testing.T) {
	ca := testca.CA("mesh")
	first, second := ca.Leaf("first", time.Hour), ca.Leaf("second", time.Hour)
	dir, watcher := watched(t, first, ca)
	source := certwatcher.Source(watcher, filepath.Join(dir, "tls.crt"))
	if got := asked(t, source); got.Kind != "identity" || got.Leaf.Fingerprint != fingerprint(first.Certificate) || len(got.Leaf.Chain) != 0 || got.Anchors != nil {
		t.Fatalf("before the change: %+v", got)
	}
	// New files that were not read yet are not in use.
	testca.Write(dir, second, ca)
	if got := asked(t, source); got.Leaf.Fingerprint != fingerprint(first.Certificate) {
		t.Fatal("a file that was not read shows")
	}
	if err := watcher.ReadCertificate(); err != nil {
		t.Fatal(err)
	}
	if got := asked(t, source); got.Leaf.Fingerprint != fingerprint(second.Certificate) {
		t.Fatal("the new leaf does not show")
	}
	if err := os.WriteFile(filepath.Join(dir, "tls.crt"), []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	if watcher.ReadCertificate() == nil {
		t.Fatal("a torn file was read")
	}
	if got := asked(t, source); got.Leaf.Fingerprint != fingerprint(second.Certificate) {
		t.Fatal("a torn file changed what shows")
	}
}

func TestTheChainBehindTheLeafShows(t *testing.T) {
	old, ca := testca.CA("old"), testca.CA("mesh")
	leaf := ca.Leaf("web", time.Hour)
	chained := leaf
	chained.PEM = append(append([]byte{}, leaf.PEM...), old.PEM...)
	_, watcher := watched(t, chained, ca)
	got := asked(t, certwatcher.Source(watcher, "tls.crt"))
	if len(got.Leaf.Chain) != 1 || got.Leaf.Chain[0] != fingerprint(old.Certificate) {
		t.Fatalf("chain %v", got.Leaf.Chain)
	}
}

func TestTheCasOfAServerThatVerifiesItsClientsShow(t *testing.T) {
	old, ca := testca.CA("old"), testca.CA("mesh")
	_, watcher := watched(t, ca.Leaf("web", time.Hour), ca)
	inUse := []*x509.Certificate{old.Certificate}
	source := certwatcher.Source(watcher, "tls.crt", certwatcher.Verifying(func() []*x509.Certificate { return inUse }))
	if got := asked(t, source); len(got.Anchors) != 1 || got.Anchors[0] != fingerprint(old.Certificate) {
		t.Fatalf("anchors %v", got.Anchors)
	}
	inUse = []*x509.Certificate{ca.Certificate, old.Certificate}
	if got := asked(t, source); len(got.Anchors) != 2 || got.Anchors[0] != fingerprint(ca.Certificate) {
		t.Fatalf("anchors %v", got.Anchors)
	}
}

// A webhook server of controller-runtime, and beside it a port with its evidence.
func ExampleSource() {
	ca := testca.CA("mesh")
	dir, err := os.MkdirTemp("", "certwatcher")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	testca.Write(dir, ca.Leaf("webhook", time.Hour), ca)

	watcher, err := upstream.New(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() { _ = watcher.Start(ctx) }()
	server := &tls.Config{GetCertificate: watcher.GetCertificate}
	shows := httptest.NewServer(evidence.Handler(certwatcher.Source(watcher, filepath.Join(dir, "tls.crt"))))
	defer shows.Close()

	answer, err := shows.Client().Get(shows.URL + evidence.Path)
	if err != nil {
		panic(err)
	}
	defer func() { _ = answer.Body.Close() }()
	fmt.Println(answer.Status, server.GetCertificate != nil)
	// Output: 200 OK true
}
