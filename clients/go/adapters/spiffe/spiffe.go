// Package spiffe shows as evidence what the X509Source of go-spiffe has in use: the X.509-SVID that a workload presents, and the CAs of the trust domains
// whose peers it verifies.
package spiffe

import (
	"crypto/x509"

	"github.com/spiffe/go-spiffe/v2/bundle/x509bundle"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/spiffe/go-spiffe/v2/svid/x509svid"
	"handover.dev/go/evidence"
)

// X509Source is what a *workloadapi.X509Source of go-spiffe offers: an SVID and bundles.
type X509Source interface {
	x509svid.Source
	x509bundle.Source
}

// Source shows the SVID of a workload and the CAs of the trust domains that it verifies peers of: its own without any given, else those given. Give it to
// [evidence.Handler] or [evidence.WriteMetrics].
//
// While the Workload API has given no SVID, or no bundle of one of the domains, the source shows no leaf and no CAs: that is no evidence, and a rotation waits.
func Source(source X509Source, domains ...spiffeid.TrustDomain) evidence.Source {
	return evidence.SourceFunc(func() evidence.Loaded {
		svid, err := source.GetX509SVID()
		if err != nil || len(svid.Certificates) == 0 {
			return evidence.Loaded{}
		}
		shown := evidence.Loaded{Leaf: svid.Certificates[0], Chain: [][]byte{}}
		for _, behind := range svid.Certificates[1:] {
			shown.Chain = append(shown.Chain, behind.Raw)
		}
		verified := domains
		if len(verified) == 0 {
			verified = []spiffeid.TrustDomain{svid.ID.TrustDomain()}
		}
		anchors := []*x509.Certificate{}
		for _, domain := range verified {
			bundle, err := source.GetX509BundleForTrustDomain(domain)
			if err != nil {
				return evidence.Loaded{Leaf: shown.Leaf, Chain: shown.Chain}
			}
			anchors = append(anchors, bundle.X509Authorities()...)
		}
		shown.Anchors = anchors
		return shown
	})
}
