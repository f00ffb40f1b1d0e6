// Package evidence serves Handover's status document, or the same as metrics: which CA certificates and which leaf a process has in use. A rotation waits
// until it sees the new ones there.
//
// It works over any reloader: give [Handler] a [Source] that tells what is in use at this moment, not what lies in a file.
package evidence

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// Path is where a controller asks for the document. It is fixed.
const Path = "/handover/status"

// maxBytes is what a controller reads of a document.
const maxBytes = 64 * 1024

// mostBehind keeps documents small: the files of an authority have one or two certificates behind the leaf.
const mostBehind = 8

// Loaded is the material that a reloader has in use.
type Loaded struct {
	// Path is the first file of the source, for people.
	Path string
	// Anchors are all CA certificates that peers are verified with. Nil: this source verifies no peers.
	Anchors []*x509.Certificate
	// Leaf is the certificate that this process presents. Nil: it presents none.
	Leaf *x509.Certificate
	// Chain are the certificates (DER) that this process sends behind the leaf, such as a cross-certificate: [tls.Certificate].Certificate[1:].
	// Nil: not known. Empty: it sends the leaf alone.
	Chain [][]byte
	// Loads is 1 after the first load and grows by 1 with each change. Zero leaves it out.
	Loads int
	// LoadedAt is when the material was loaded. Zero leaves it out.
	LoadedAt time.Time
	// Failure says why the newest files are not in use. Nil: they are.
	Failure *Failure
}

// Failure is a reload that kept the last good material in use.
type Failure struct {
	// Reason is the kind of failure: read_error, empty, parse_error, mismatch, not_valid_now.
	Reason string `json:"reason"`
	// Code is the code of the error.
	Code string `json:"code"`
	// Path is the file.
	Path string `json:"path"`
	// At is when the reload failed.
	At time.Time `json:"at"`
}

// Source tells what a reloader has in use. It is asked for each document, from any goroutine.
type Source interface {
	Loaded() Loaded
}

// SourceFunc is a function as a Source.
type SourceFunc func() Loaded

// Loaded calls the function.
func (f SourceFunc) Loaded() Loaded { return f() }

// LeafOf returns the leaf of a certificate as crypto/tls keeps it, or nil without one.
func LeafOf(certificate *tls.Certificate) *x509.Certificate {
	if certificate == nil {
		return nil
	}
	if certificate.Leaf != nil {
		return certificate.Leaf
	}
	if len(certificate.Certificate) == 0 {
		return nil
	}
	leaf, err := x509.ParseCertificate(certificate.Certificate[0])
	if err != nil {
		return nil
	}
	return leaf
}

// ChainOf returns what is sent behind the leaf of a certificate as crypto/tls keeps it, or nil without one.
func ChainOf(certificate *tls.Certificate) [][]byte {
	if certificate == nil || len(certificate.Certificate) == 0 {
		return nil
	}
	return certificate.Certificate[1:]
}

type document struct {
	Version   int       `json:"version"`
	At        string    `json:"at"`
	Pid       int       `json:"pid"`
	PodUID    string    `json:"podUid,omitempty"`
	Processes []process `json:"processes"`
	Sources   []source  `json:"sources"`
	Truncated bool      `json:"truncated,omitempty"`
}

type process struct {
	Pid int `json:"pid"`
}

type source struct {
	Kind     string    `json:"kind"`
	Path     string    `json:"path,omitempty"`
	Anchors  *[]string `json:"anchors,omitempty"`
	Leaf     *leaf     `json:"leaf,omitempty"`
	Loads    int       `json:"loads,omitempty"`
	LoadedAt string    `json:"loadedAt,omitempty"`
	Failure  *Failure  `json:"lastFailure,omitempty"`
}

type leaf struct {
	Fingerprint string    `json:"fingerprint"`
	IssuerKeyID string    `json:"issuerKeyId,omitempty"`
	Chain       *[]string `json:"chain,omitempty"`
	NotAfter    string    `json:"notAfter"`
}

// Handler answers GET and HEAD of [Path] with the status document, and any other path with 404. Serve it over plain HTTP on a port
// of its own, so that it still answers when the TLS of this process is broken. Nothing in the document is secret.
//
// The environment variable POD_UID (metadata.uid, by the downward API) names the pod. Pods need it: an address passes to another
// pod when one ends.
func Handler(sources ...Source) http.Handler {
	podUID := os.Getenv("POD_UID")
	return http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		if request.URL.Path != Path {
			http.NotFound(response, request)
			return
		}
		if request.Method != http.MethodGet && request.Method != http.MethodHead {
			response.Header().Set("Allow", "GET, HEAD")
			http.Error(response, "only GET and HEAD", http.StatusMethodNotAllowed)
			return
		}
		text, err := render(sources, podUID, time.Now())
		if err != nil {
			http.Error(response, "the status document cannot be made", http.StatusInternalServerError)
			return
		}
		response.Header().Set("Content-Type", "application/json")
		response.Header().Set("Cache-Control", "no-store")
		response.Header().Set("Content-Length", strconv.Itoa(len(text)))
		_, _ = response.Write(text) // the caller may be gone
	})
}

// render leaves out the oldest CAs of a document that would be longer than a controller reads, and says so.
func render(sources []Source, podUID string, now time.Time) ([]byte, error) {
	pid := os.Getpid()
	shown := document{
		Version:   1,
		At:        iso(now),
		Pid:       pid,
		PodUID:    podUID,
		Processes: []process{{Pid: pid}},
		Sources:   make([]source, 0, len(sources)),
	}
	for _, each := range sources {
		shown.Sources = append(shown.Sources, sourceOf(each.Loaded()))
	}
	text, err := json.Marshal(shown)
	for most := 512; err == nil && len(text) > maxBytes && most >= 1; most /= 2 {
		shown.Truncated = true
		for index, each := range shown.Sources {
			if each.Anchors != nil && len(*each.Anchors) > most {
				newest := (*each.Anchors)[:most]
				shown.Sources[index].Anchors = &newest
			}
		}
		text, err = json.Marshal(shown)
	}
	return text, err
}

func sourceOf(loaded Loaded) source {
	shown := source{Kind: "trust", Path: loaded.Path, Loads: loaded.Loads, Failure: loaded.Failure}
	if !loaded.LoadedAt.IsZero() {
		shown.LoadedAt = iso(loaded.LoadedAt)
	}
	if loaded.Anchors != nil {
		anchors := make([]string, 0, len(loaded.Anchors))
		for _, each := range loaded.Anchors {
			anchors = append(anchors, fingerprint(each))
		}
		shown.Anchors = &anchors
	}
	if loaded.Leaf != nil {
		shown.Kind = "identity"
		shown.Leaf = &leaf{
			Fingerprint: fingerprint(loaded.Leaf),
			IssuerKeyID: hex.EncodeToString(loaded.Leaf.AuthorityKeyId),
			NotAfter:    iso(loaded.Leaf.NotAfter),
		}
		if loaded.Chain != nil && len(loaded.Chain) <= mostBehind {
			chain := make([]string, 0, len(loaded.Chain))
			for _, each := range loaded.Chain {
				chain = append(chain, fingerprintOf(each))
			}
			shown.Leaf.Chain = &chain
		}
	}
	return shown
}

// WriteMetrics writes what [Handler] shows as metrics, in the text format of Prometheus: for a program that has a metrics page already.
// A controller reads them there: tls_trust_anchor_info and tls_leaf_info.
func WriteMetrics(w io.Writer, sources ...Source) error {
	var anchors, leaves strings.Builder
	known := map[string]int{}
	for _, each := range sources {
		loaded := each.Loaded()
		// Sources of the same file may hold different versions of it: each has a name of its own.
		name := loaded.Path
		if known[loaded.Path]++; known[loaded.Path] > 1 {
			name += " " + strconv.Itoa(known[loaded.Path])
		}
		name = labelEscapes.Replace(name)
		for _, anchor := range loaded.Anchors {
			fmt.Fprintf(&anchors, "tls_trust_anchor_info{source=\"%s\",sha256=\"%s\"} 1\n", name, fingerprint(anchor))
		}
		if loaded.Leaf != nil {
			issuer := ""
			if id := loaded.Leaf.AuthorityKeyId; len(id) > 0 {
				issuer = fmt.Sprintf(",issuer_key_id=\"%x\"", id)
			}
			fmt.Fprintf(&leaves, "tls_leaf_info{source=\"%s\",sha256=\"%s\"%s} 1\n", name, fingerprint(loaded.Leaf), issuer)
		}
	}
	if anchors.Len() > 0 {
		if _, err := io.WriteString(w, "# TYPE tls_trust_anchor_info gauge\n"+anchors.String()); err != nil {
			return err
		}
	}
	if leaves.Len() == 0 {
		return nil
	}
	_, err := io.WriteString(w, "# TYPE tls_leaf_info gauge\n"+leaves.String())
	return err
}

// labelEscapes are those of the text format.
var labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func fingerprint(certificate *x509.Certificate) string { return fingerprintOf(certificate.Raw) }

func fingerprintOf(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

func iso(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }
