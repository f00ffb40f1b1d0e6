package evidence_test

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"handover.dev/go/evidence"
	"handover.dev/go/internal/testca"
)

func ask(handler http.Handler, method, path string) *httptest.ResponseRecorder {
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequest(method, path, nil))
	return recorder
}

func TestTheHandlerAnswersAtItsPathAlone(t *testing.T) {
	handler := evidence.Handler()
	for asked, expected := range map[[2]string]int{
		{"GET", evidence.Path}:        200,
		{"HEAD", evidence.Path}:       200,
		{"POST", evidence.Path}:       405,
		{"GET", "/"}:                  404,
		{"GET", evidence.Path + "/x"}: 404,
	} {
		if got := ask(handler, asked[0], asked[1]).Code; got != expected {
			t.Errorf("%v: %d, not %d", asked, got, expected)
		}
	}
}

func TestADocumentStaysUnder64KiBAndSaysWhatItLeftOut(t *testing.T) {
	ca := testca.CA("ca").Certificate
	anchors := make([]*x509.Certificate, 3000)
	for index := range anchors {
		anchors[index] = ca
	}
	source := evidence.SourceFunc(func() evidence.Loaded { return evidence.Loaded{Anchors: anchors} })
	answer := ask(evidence.Handler(source), "GET", evidence.Path)
	var document struct {
		Truncated bool
		Sources   []struct{ Anchors []string }
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	if answer.Body.Len() > 64*1024 || !document.Truncated || len(document.Sources[0].Anchors) != 512 {
		t.Fatalf("%d bytes, truncated %v", answer.Body.Len(), document.Truncated)
	}
}

func TestASourceThatVerifiesNoPeersListsNoAnchors(t *testing.T) {
	source := evidence.SourceFunc(func() evidence.Loaded { return evidence.Loaded{} })
	var document struct{ Sources []map[string]any }
	if err := json.Unmarshal(ask(evidence.Handler(source), "GET", evidence.Path).Body.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	if _, has := document.Sources[0]["anchors"]; has {
		t.Fatal("an empty list of CAs is not the same as none")
	}
}

func TestThePodIsNamed(t *testing.T) {
	t.Setenv("POD_UID", "a-pod")
	var document struct{ PodUID string }
	if err := json.Unmarshal(ask(evidence.Handler(), "GET", evidence.Path).Body.Bytes(), &document); err != nil || document.PodUID != "a-pod" {
		t.Fatal(document, err)
	}
}

func TestADocumentListsWhatIsSentBehindTheLeafWhereThatIsKnownAndShort(t *testing.T) {
	ca := testca.CA("ca")
	leaf := ca.Leaf("web", time.Hour).Certificate
	shown := func(chain [][]byte) string {
		source := evidence.SourceFunc(func() evidence.Loaded { return evidence.Loaded{Leaf: leaf, Chain: chain} })
		return ask(evidence.Handler(source), "GET", evidence.Path).Body.String()
	}
	one := fmt.Sprintf(`"chain":["%x"]`, sha256.Sum256(ca.Certificate.Raw))
	if text := shown([][]byte{ca.Certificate.Raw}); !strings.Contains(text, one) {
		t.Fatal(text)
	}
	if text := shown([][]byte{}); !strings.Contains(text, `"chain":[]`) {
		t.Fatal(text)
	}
	for _, chain := range [][][]byte{nil, make([][]byte, 9)} {
		if text := shown(chain); strings.Contains(text, "chain") {
			t.Fatal(text)
		}
	}
	if len(evidence.ChainOf(&tls.Certificate{Certificate: [][]byte{leaf.Raw, ca.Certificate.Raw}})) != 1 || evidence.ChainOf(nil) != nil {
		t.Fatal("not the certificates behind the leaf")
	}
}

func TestTheMetricsShowTheCasAndTheLeafInUse(t *testing.T) {
	ca := testca.CA("ca")
	leaf := ca.Leaf("web", time.Hour).Certificate
	sum := func(certificate *x509.Certificate) string { return fmt.Sprintf("%x", sha256.Sum256(certificate.Raw)) }
	source := evidence.SourceFunc(func() evidence.Loaded {
		return evidence.Loaded{Path: "/etc/\"web\"\\\n", Anchors: []*x509.Certificate{ca.Certificate}, Leaf: leaf}
	})
	var page strings.Builder
	if err := evidence.WriteMetrics(&page, source, source); err != nil {
		t.Fatal(err)
	}
	expected := `# TYPE tls_trust_anchor_info gauge
tls_trust_anchor_info{source="/etc/\"web\"\\\n",sha256="` + sum(ca.Certificate) + `"} 1
tls_trust_anchor_info{source="/etc/\"web\"\\\n 2",sha256="` + sum(ca.Certificate) + `"} 1
# TYPE tls_leaf_info gauge
tls_leaf_info{source="/etc/\"web\"\\\n",sha256="` + sum(leaf) + `",issuer_key_id="` + fmt.Sprintf("%x", leaf.AuthorityKeyId) + `"} 1
tls_leaf_info{source="/etc/\"web\"\\\n 2",sha256="` + sum(leaf) + `",issuer_key_id="` + fmt.Sprintf("%x", leaf.AuthorityKeyId) + `"} 1
`
	if page.String() != expected {
		t.Fatal(page.String())
	}
}

func TestAProcessThatHoldsNothingShowsNoMetrics(t *testing.T) {
	var page strings.Builder
	source := evidence.SourceFunc(func() evidence.Loaded { return evidence.Loaded{} })
	if err := evidence.WriteMetrics(&page, source); err != nil || page.String() != "" {
		t.Fatal(page.String(), err)
	}
}

// Any reloader is a source: here a function like GetCertificate of controller-runtime's certwatcher.
func ExampleSourceFunc() {
	ca := testca.CA("mesh")
	issued := ca.Leaf("webhook", time.Hour)
	certificate, _ := tls.X509KeyPair(issued.PEM, issued.KeyPEM)
	getCertificate := func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &certificate, nil }

	source := evidence.SourceFunc(func() evidence.Loaded {
		inUse, err := getCertificate(nil)
		if err != nil {
			return evidence.Loaded{}
		}
		return evidence.Loaded{Path: "/etc/webhook/tls.crt", Leaf: evidence.LeafOf(inUse), Chain: evidence.ChainOf(inUse)}
	})
	answer := ask(evidence.Handler(source), "GET", evidence.Path)
	fmt.Println(answer.Code, answer.Header().Get("Content-Type"))
	// Output: 200 application/json
}
