package follow_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"handover.dev/go/evidence"
	"handover.dev/go/follow"
	"handover.dev/go/internal/testca"
)

// A server and a client follow one folder, and a second port shows what they have loaded.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "mesh")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ca := testca.CA("mesh")
	testca.Write(dir, ca.Leaf("billing", time.Hour), ca)

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	folder, err := follow.Open(ctx, dir) // tls.crt, tls.key, ca.crt
	if err != nil {
		log.Fatal(err)
	}

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	hello := http.HandlerFunc(func(response http.ResponseWriter, _ *http.Request) { fmt.Fprint(response, "hello") })
	server := &http.Server{Handler: hello, TLSConfig: folder.Server(), ReadHeaderTimeout: 5 * time.Second}
	go server.ServeTLS(listener, "", "")
	defer server.Close()

	client := &http.Client{Transport: folder.Transport(), Timeout: 5 * time.Second}
	response, err := client.Get(fmt.Sprintf("https://localhost:%d/", listener.Addr().(*net.TCPAddr).Port))
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	fmt.Println(string(text), folder.Loaded().Loads)

	_ = evidence.Handler(folder) // serve it over plain HTTP on a port of its own
	// Output: hello 1
}
