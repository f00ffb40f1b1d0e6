// Command conformance is the driver of the cases in clients/conformance: its README says which commands it reads and answers.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"handover.dev/go/evidence"
	"handover.dev/go/follow"
)

type command struct {
	ID     int
	Do     string
	Dir    string
	PollMs int
	Port   int
}

type answer struct {
	ID     int    `json:"id"`
	OK     bool   `json:"ok"`
	Code   string `json:"code,omitempty"`
	Status int    `json:"status,omitempty"`
	Server int    `json:"server,omitempty"`
}

type driver struct {
	folder *follow.Folder
	client *http.Client
}

func main() {
	log.SetOutput(io.Discard) // net/http reports each refused handshake
	var d driver
	out := json.NewEncoder(os.Stdout)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var asked command
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			panic(err)
		}
		answered, err := d.run(asked)
		answered.ID, answered.OK = asked.ID, err == nil
		var refused *follow.Error
		if errors.As(err, &refused) {
			answered.Code = refused.Code
		}
		if err := out.Encode(answered); err != nil {
			panic(err)
		}
	}
}

func (d *driver) run(asked command) (answer, error) {
	switch asked.Do {
	case "open":
		return d.open(asked)
	case "dial":
		return answer{}, d.dial(asked.Port)
	default:
		return answer{}, fmt.Errorf("no command is called %q", asked.Do)
	}
}

func (d *driver) open(asked command) (answer, error) {
	quiet := follow.Logger(slog.New(slog.DiscardHandler))
	folder, err := follow.Open(context.Background(), asked.Dir, quiet, follow.Poll(time.Duration(asked.PollMs)*time.Millisecond))
	if err != nil {
		return answer{}, err
	}
	d.folder = folder
	d.client = &http.Client{Transport: folder.Transport(), Timeout: 10 * time.Second}
	hello := http.HandlerFunc(func(response http.ResponseWriter, _ *http.Request) { fmt.Fprint(response, "hello") })
	secure := &http.Server{Handler: hello, TLSConfig: folder.Server(), ReadHeaderTimeout: 5 * time.Second}
	server, err := serve(func(listener net.Listener) error { return secure.ServeTLS(listener, "", "") })
	if err != nil {
		return answer{}, err
	}
	plain := &http.Server{Handler: evidence.Handler(folder), ReadHeaderTimeout: 5 * time.Second}
	status, err := serve(plain.Serve)
	return answer{Status: status, Server: server}, err
}

// serve begins on a free port of the loopback.
func serve(with func(net.Listener) error) (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	go func() { _ = with(listener) }() // ends with the process
	return listener.Addr().(*net.TCPAddr).Port, nil
}

func (d *driver) dial(port int) error {
	response, err := d.client.Get(fmt.Sprintf("https://localhost:%d/", port))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return err
}
