package spiffe_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json"
	"math/big"
	"net"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/spiffe/go-spiffe/v2/proto/spiffe/workload"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/spiffe/go-spiffe/v2/workloadapi"
	"google.golang.org/grpc"
	"handover.dev/go/adapters/spiffe"
	"handover.dev/go/evidence"
)

type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, domain string) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: serial(t), Subject: pkix.Name{CommonName: domain}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, URIs: []*url.URL{{Scheme: "spiffe", Host: domain}},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	certificate, err := x509.ParseCertificate(der)
	must(t, err)
	return authority{certificate, key}
}

// svid answers as a SPIRE agent does: one X.509-SVID of the workload, its key, and the bundle of its trust domain.
func (a authority) svid(t *testing.T, domain string, bundle ...authority) (*workload.X509SVIDResponse, *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: serial(t), NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, URIs: []*url.URL{{Scheme: "spiffe", Host: domain, Path: "/web"}},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	must(t, err)
	leaf, err := x509.ParseCertificate(der)
	must(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	var roots []byte
	for _, each := range bundle {
		roots = append(roots, each.certificate.Raw...)
	}
	one := &workload.X509SVID{SpiffeId: "spiffe://" + domain + "/web", X509Svid: der, X509SvidKey: keyDER, Bundle: roots}
	return &workload.X509SVIDResponse{Svids: []*workload.X509SVID{one}}, leaf
}

// agent is a Workload API over a socket; what is sent on it reaches the workloads.
type agent struct {
	workload.UnimplementedSpiffeWorkloadAPIServer
	updates chan *workload.X509SVIDResponse
}

func (a *agent) FetchX509SVID(_ *workload.X509SVIDRequest, stream workload.SpiffeWorkloadAPI_FetchX509SVIDServer) error {
	for {
		select {
		case next := <-a.updates:
			if err := stream.Send(next); err != nil {
				return err
			}
		case <-stream.Context().Done():
			return nil
		}
	}
}

func serve(t *testing.T) (*agent, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent.sock")
	listener, err := net.Listen("unix", path)
	must(t, err)
	made := &agent{updates: make(chan *workload.X509SVIDResponse, 1)}
	server := grpc.NewServer()
	workload.RegisterSpiffeWorkloadAPIServer(server, made)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return made, "unix://" + path
}

type shown struct {
	Anchors *[]string
	Leaf    *struct {
		Fingerprint string
		Chain       []string
	}
}

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

func TestAnX509SourceShowsItsSvidAndTheCasOfItsTrustDomain(t *testing.T) {
	api, address := serve(t)
	old, young := newAuthority(t, "mesh.test"), newAuthority(t, "mesh.test")
	first, firstLeaf := old.svid(t, "mesh.test", old)
	api.updates <- first
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	defer stop()
	x509Source, err := workloadapi.NewX509Source(ctx, workloadapi.WithClientOptions(workloadapi.WithAddr(address)))
	must(t, err)
	defer func() { _ = x509Source.Close() }()

	source := spiffe.Source(x509Source)
	got := asked(t, source)
	if got.Leaf == nil || got.Leaf.Fingerprint != fingerprint(firstLeaf) || len(got.Leaf.Chain) != 0 {
		t.Fatalf("leaf %+v", got.Leaf)
	}
	if got.Anchors == nil || len(*got.Anchors) != 1 || (*got.Anchors)[0] != fingerprint(old.certificate) {
		t.Fatalf("anchors %v", got.Anchors)
	}

	second, secondLeaf := young.svid(t, "mesh.test", young, old)
	api.updates <- second
	must(t, x509Source.WaitUntilUpdated(ctx))
	got = asked(t, source)
	if got.Leaf == nil || got.Leaf.Fingerprint != fingerprint(secondLeaf) {
		t.Fatalf("leaf %+v", got.Leaf)
	}
	if got.Anchors == nil || len(*got.Anchors) != 2 {
		t.Fatalf("anchors %v", got.Anchors)
	}
}

func TestABundleThatIsMissingIsNoEvidenceOfTrust(t *testing.T) {
	api, address := serve(t)
	ca := newAuthority(t, "mesh.test")
	first, _ := ca.svid(t, "mesh.test", ca)
	api.updates <- first
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	defer stop()
	x509Source, err := workloadapi.NewX509Source(ctx, workloadapi.WithClientOptions(workloadapi.WithAddr(address)))
	must(t, err)
	other := spiffeid.RequireTrustDomainFromString("other.test")
	got := asked(t, spiffe.Source(x509Source, spiffeid.RequireTrustDomainFromString("mesh.test"), other))
	if got.Leaf == nil || got.Anchors != nil {
		t.Fatalf("shown %+v", got)
	}
	must(t, x509Source.Close())
	if got := asked(t, spiffe.Source(x509Source)); got.Leaf != nil || got.Anchors != nil {
		t.Fatalf("shown after the end: %+v", got)
	}
}

func fingerprint(certificate *x509.Certificate) string {
	sum := sha256.Sum256(certificate.Raw)
	return hex.EncodeToString(sum[:])
}

func serial(t *testing.T) *big.Int {
	t.Helper()
	number, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	must(t, err)
	return number
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
