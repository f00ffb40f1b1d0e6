// Connects again and again, reads its files anew each time, and writes one line for each call: ok, or what went wrong.
//
//	client '{"port": 1, "ca": "ca.crt", "cert": "tls.crt", "key": "tls.key", "send": "hex"}'
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"time"
)

type settings struct {
	Port                int
	CA, Cert, Key, Send string
}

func call(s settings) error {
	pem, err := os.ReadFile(s.CA)
	if err != nil {
		return err
	}
	config := &tls.Config{ServerName: "localhost", RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM(pem)
	if s.Cert != "" {
		identity, err := tls.LoadX509KeyPair(s.Cert, s.Key)
		if err != nil {
			return err
		}
		config.Certificates = []tls.Certificate{identity}
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	connection, err := tls.DialWithDialer(dialer, "tcp", fmt.Sprintf("127.0.0.1:%d", s.Port), config)
	if err != nil {
		return err
	}
	defer connection.Close()
	connection.SetDeadline(time.Now().Add(10 * time.Second))
	request, err := hex.DecodeString(s.Send)
	if err != nil {
		return err
	}
	if _, err := connection.Write(request); err != nil {
		return err
	}
	// Over TLS 1.3 only an answer shows that the server accepted the client.
	_, err = connection.Read(make([]byte, 1))
	return err
}

func main() {
	var s settings
	if err := json.Unmarshal([]byte(os.Args[1]), &s); err != nil {
		panic(err)
	}
	for {
		if err := call(s); err != nil {
			fmt.Println(err)
		} else {
			fmt.Println("ok")
		}
		time.Sleep(50 * time.Millisecond)
	}
}
