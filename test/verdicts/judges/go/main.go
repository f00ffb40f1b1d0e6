// What Go's crypto/tls would say: crypto/x509 on each case folder named on stdin, one JSON line each.
// Contract: ../../src/judges.ts.
package main

import (
	"bufio"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
)

func certificates(file string) ([]*x509.Certificate, error) {
	rest, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var all []*x509.Certificate
	for block, rest := pem.Decode(rest); block != nil; block, rest = pem.Decode(rest) {
		one, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

func judge(folder string, usage x509.ExtKeyUsage) string {
	chain, err := certificates(filepath.Join(folder, "chain.pem"))
	bundle, err2 := certificates(filepath.Join(folder, "bundle.pem"))
	if err != nil || err2 != nil || len(chain) == 0 {
		return "unreadable"
	}
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	for _, one := range bundle {
		roots.AddCert(one)
	}
	for _, one := range chain[1:] {
		between.AddCert(one)
	}
	options := x509.VerifyOptions{Roots: roots, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{usage}}
	if _, err := chain[0].Verify(options); err != nil {
		return err.Error()
	}
	return "ok"
}

func main() {
	out := json.NewEncoder(os.Stdout)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		folder := lines.Text()
		server, client := judge(folder, x509.ExtKeyUsageServerAuth), judge(folder, x509.ExtKeyUsageClientAuth)
		if err := out.Encode(map[string]string{"case": folder, "server": server, "client": client}); err != nil {
			os.Exit(1)
		}
	}
}
