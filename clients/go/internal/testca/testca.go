// Package testca makes certificates for tests and examples.
package testca

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"time"
)

// Issued is a certificate and its key.
type Issued struct {
	Certificate *x509.Certificate
	PEM, KeyPEM []byte
	key         *ecdsa.PrivateKey
}

// CA makes a certificate authority.
func CA(name string) Issued {
	return issue(name, nil, &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, time.Hour)
}

// Leaf makes a leaf for localhost, for servers and clients, that ends after the time given.
func (ca Issued) Leaf(name string, ends time.Duration) Issued {
	return issue(name, &ca, &x509.Certificate{
		DNSNames:    []string{"localhost"},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, ends)
}

func issue(name string, by *Issued, template *x509.Certificate, ends time.Duration) Issued {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template.Subject = pkix.Name{CommonName: name}
	template.SerialNumber = must(rand.Int(rand.Reader, big.NewInt(1<<62)))
	template.NotBefore = time.Now().Add(-2 * time.Hour)
	template.NotAfter = time.Now().Add(ends)
	parent, signer := template, key
	if by != nil {
		parent, signer = by.Certificate, by.key
	}
	der := must(x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer))
	keyDER := must(x509.MarshalPKCS8PrivateKey(key))
	return Issued{
		Certificate: must(x509.ParseCertificate(der)),
		PEM:         pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		KeyPEM:      pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
		key:         key,
	}
}

// Write replaces files of a folder by rename, the bundle first: tls.crt and tls.key of the leaf, ca.crt of all CAs.
func Write(dir string, leaf Issued, cas ...Issued) {
	var bundle []byte
	for _, ca := range cas {
		bundle = append(bundle, ca.PEM...)
	}
	replace(filepath.Join(dir, "ca.crt"), bundle)
	replace(filepath.Join(dir, "tls.key"), leaf.KeyPEM)
	replace(filepath.Join(dir, "tls.crt"), leaf.PEM)
}

func replace(path string, text []byte) {
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		panic(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		panic(err)
	}
}

func must[Value any](value Value, err error) Value {
	if err != nil {
		panic(err)
	}
	return value
}
