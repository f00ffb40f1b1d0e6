package material

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"sort"
	"strings"
	"time"
)

func certificates(text []byte, path string) ([]*x509.Certificate, *Error) {
	blocks, refused := scan(text, path, func(label string, line int) *Error {
		switch {
		case label == "CERTIFICATE":
			return nil
		case strings.HasSuffix(label, "PRIVATE KEY"):
			return Refuse("PEM_PRIVATE_KEY_IN_BUNDLE", path, "line %d begins a private key; remove it, and replace the key if others could read the file", line)
		default:
			return Refuse("PEM_LABEL_REFUSED", path, "line %d begins %s; only CERTIFICATE is allowed", line, label)
		}
	})
	if refused != nil {
		return nil, refused
	}
	all := make([]*x509.Certificate, 0, len(blocks))
	for _, each := range blocks {
		certificate, err := x509.ParseCertificate(each.der)
		if err != nil {
			return nil, &Error{Code: "CERTIFICATE_MALFORMED", Path: path, Message: "a CERTIFICATE block holds no certificate", Err: err}
		}
		all = append(all, certificate)
	}
	return all, nil
}

// Bundle reads CA certificates, newest first and each once. It refuses a private key, any other label, and a bundle without a CA.
// A leaf beside CAs is left out: crypto/x509 would take it for an anchor.
func Bundle(text []byte, path string) ([]*x509.Certificate, error) {
	all, refused := certificates(text, path)
	if refused != nil {
		return nil, refused
	}
	if len(all) == 0 {
		return nil, Refuse("BUNDLE_EMPTY", path, "no certificate; write at least one CA certificate")
	}
	seen := map[string]bool{}
	var anchors []*x509.Certificate
	for _, each := range all {
		// A self-signed certificate need not be a CA: a pinned server, a root of version 1.
		if isAnchor := each.IsCA || bytes.Equal(each.RawSubject, each.RawIssuer); !isAnchor || seen[string(each.Raw)] {
			continue
		}
		seen[string(each.Raw)] = true
		anchors = append(anchors, each)
	}
	if len(anchors) == 0 {
		return nil, Refuse("BUNDLE_NO_CA", path, "no CA certificate, only certificates that a CA issued; write the certificate of their CA")
	}
	sort.SliceStable(anchors, func(a, b int) bool { return anchors[a].NotBefore.After(anchors[b].NotBefore) })
	return anchors, nil
}

// Identity reads a chain, leaf first, and its key. It refuses a key of another certificate, and a leaf that is not valid now.
func Identity(chainText []byte, chainPath string, keyText []byte, keyPath string, now time.Time) (*tls.Certificate, error) {
	chain, refused := certificates(chainText, chainPath)
	if refused != nil {
		return nil, refused
	}
	if len(chain) == 0 {
		return nil, Refuse("PEM_NO_CERTIFICATE", chainPath, "no certificate")
	}
	key, refused := privateKey(keyText, keyPath)
	if refused != nil {
		return nil, refused
	}
	leaf := chain[0]
	public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !public.Equal(leaf.PublicKey) {
		return nil, Refuse("KEY_MISMATCH", keyPath, "the key does not match the certificate in %s; write both together", chainPath)
	}
	if now.After(leaf.NotAfter) {
		return nil, Refuse("CERTIFICATE_EXPIRED", chainPath, "expired at %s; write a new one", leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	if now.Before(leaf.NotBefore) {
		return nil, Refuse("CERTIFICATE_NOT_YET_VALID", chainPath, "not valid before %s; check this machine's clock", leaf.NotBefore.UTC().Format(time.RFC3339))
	}
	identity := &tls.Certificate{PrivateKey: key, Leaf: leaf}
	for _, each := range chain {
		identity.Certificate = append(identity.Certificate, each.Raw)
	}
	return identity, nil
}

func privateKey(text []byte, path string) (crypto.Signer, *Error) {
	blocks, refused := scan(text, path, func(string, int) *Error { return nil })
	if refused != nil {
		return nil, refused
	}
	var found []block
	for _, each := range blocks {
		if each.label == "ENCRYPTED PRIVATE KEY" {
			return nil, Refuse("KEY_ENCRYPTED", path, "the private key is encrypted; write it without a passphrase")
		}
		if strings.HasSuffix(each.label, "PRIVATE KEY") {
			found = append(found, each)
		}
	}
	switch len(found) {
	case 0:
		return nil, Refuse("KEY_MISSING", path, "no private key")
	case 1:
	default:
		return nil, Refuse("KEY_AMBIGUOUS", path, "%d private keys; write one", len(found))
	}
	var parsed any
	var err error
	switch found[0].label {
	case "PRIVATE KEY":
		parsed, err = x509.ParsePKCS8PrivateKey(found[0].der)
	case "EC PRIVATE KEY":
		parsed, err = x509.ParseECPrivateKey(found[0].der)
	case "RSA PRIVATE KEY":
		parsed, err = x509.ParsePKCS1PrivateKey(found[0].der)
	default:
		return nil, Refuse("KEY_LABEL_REFUSED", path, "%s is no kind of key that can be read here", found[0].label)
	}
	signer, ok := parsed.(crypto.Signer)
	if err != nil || !ok {
		// The error below is left out: it could quote what it has read.
		return nil, Refuse("KEY_MALFORMED", path, "the private key cannot be read; write it again")
	}
	return signer, nil
}
