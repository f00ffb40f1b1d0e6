// The next version of the same server: it publishes nothing, and serves the certificate of a mounted Secret, read anew for each handshake.
package main

import (
	"crypto/tls"
	"log"

	"handover.dev/test-field/kapp/served"
)

func load(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair("/tls/tls.crt", "/tls/tls.key")
	return &pair, err
}

func main() {
	if _, err := load(nil); err != nil {
		log.Fatal(err)
	}
	served.Ready.Store(true)
	if err := served.Run(served.Ended(), &tls.Config{GetCertificate: load, MinVersion: tls.VersionTLS12}); err != nil {
		log.Fatal(err)
	}
}
