// An mTLS server and client that reloads its files late, for rates that Node does not reach. It reports its calls as the program of
// packages/operator/test/rotation/pod does, to the same collector. Standard library only.
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

type target struct {
	Name       string `json:"name"`
	Address    string `json:"address"`
	ServerName string `json:"servername"`
}

type setting struct {
	Name string `json:"name"`
	// Seconds between seeing new files and loading them.
	Delay float64 `json:"delay"`
	// Calls per second, over all targets.
	Rate      float64  `json:"rate"`
	Collector string   `json:"collector"`
	Targets   []target `json:"targets"`
	// Where tls.crt, tls.key and ca.crt are.
	Folder string `json:"folder"`
	Listen string `json:"listen"`
}

const (
	// For a very busy machine; a handshake takes a millisecond.
	timeout      = 30 * time.Second
	mostUnderWay = 400
	mostFailures = 40
)

// material is one version of the files.
type material struct {
	pair  tls.Certificate
	roots *x509.CertPool
}

func load(folder string) (*material, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key"))
	if err != nil {
		return nil, err
	}
	bundle, err := os.ReadFile(filepath.Join(folder, "ca.crt"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		return nil, errors.New("ca.crt holds no certificate")
	}
	return &material{pair, roots}, nil
}

// snapshot is the folder of the version that is in place now.
func snapshot(folder string) string {
	name, _ := os.Readlink(filepath.Join(folder, "..data"))
	return name
}

// follow checks every second, and loads all three files of one snapshot `delay` after it saw a new one.
func follow(folder, seen string, delay time.Duration, now *atomic.Pointer[material]) {
	var since time.Time
	for range time.Tick(time.Second) {
		found := snapshot(folder)
		if found == "" || found == seen {
			continue
		}
		if since.IsZero() {
			since = time.Now()
		}
		if time.Since(since) < delay {
			continue
		}
		fresh, err := load(filepath.Join(folder, found))
		if err != nil {
			continue // swapped in between: loaded by the next check
		}
		now.Store(fresh)
		seen, since = found, time.Time{}
	}
}

func serve(address string, now *atomic.Pointer[material]) error {
	current := func(*tls.ClientHelloInfo) (*tls.Config, error) {
		held := now.Load()
		return &tls.Config{
			Certificates:           []tls.Certificate{held.pair},
			ClientCAs:              held.roots,
			ClientAuth:             tls.RequireAndVerifyClientCert,
			SessionTicketsDisabled: true,
		}, nil
	}
	listener, err := tls.Listen("tcp", address, &tls.Config{GetConfigForClient: current})
	if err != nil {
		return err
	}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer connection.Close()
				_ = connection.SetDeadline(time.Now().Add(timeout))
				said := make([]byte, 1)
				if _, err := io.ReadFull(connection, said); err == nil {
					_, _ = connection.Write(said)
				}
			}()
		}
	}()
	return nil
}

// handshake is one full handshake, and a byte in both directions: with TLS 1.3 only data shows that we were accepted.
func handshake(to target, held *material) (kind string, why error) {
	plain, err := net.DialTimeout("tcp", to.Address, timeout)
	if err != nil {
		return "unreached", err
	}
	defer plain.Close()
	_ = plain.SetDeadline(time.Now().Add(timeout))
	config := &tls.Config{Certificates: []tls.Certificate{held.pair}, RootCAs: held.roots, ServerName: to.ServerName}
	connection := tls.Client(plain, config)
	if _, err := connection.Write([]byte("x")); err != nil {
		return "handshake", err
	}
	if _, err := io.ReadFull(connection, make([]byte, 1)); err != nil {
		return "handshake", err
	}
	return "", nil
}

type count struct {
	Ok        int `json:"ok"`
	Failed    int `json:"failed"`
	Unreached int `json:"unreached"`
}

type failure struct {
	At     string `json:"at"`
	Target string `json:"target"`
	Kind   string `json:"kind"`
	Why    string `json:"why"`
}

type tally struct {
	lock     sync.Mutex
	Pod      string            `json:"pod"`
	Name     string            `json:"name"`
	Counts   map[string]*count `json:"counts"`
	Skipped  int               `json:"skipped"`
	Failures []failure         `json:"failures"`
	// The tests of pods ask for single handshakes. Here none is asked for.
	Tried map[string]string `json:"tried"`
}

func (held *tally) add(name, kind string, why error) {
	held.lock.Lock()
	defer held.lock.Unlock()
	counted := held.Counts[name]
	if counted == nil {
		counted = &count{}
		held.Counts[name] = counted
	}
	if why == nil {
		counted.Ok++
		return
	}
	counted.Failed++
	if kind == "unreached" {
		counted.Unreached++
	}
	if len(held.Failures) < mostFailures {
		held.Failures = append(held.Failures, failure{time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), name, kind, why.Error()})
	}
}

func (held *tally) skip() {
	held.lock.Lock()
	defer held.lock.Unlock()
	held.Skipped++
}

// report tells the collector what was counted; the answer says whether to make calls.
func (held *tally) report(collector string) (isToCall bool) {
	held.lock.Lock()
	body, err := json.Marshal(held)
	held.lock.Unlock()
	if err != nil {
		log.Fatal(err)
	}
	client := http.Client{Timeout: timeout, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Post(collector, "application/json", bytes.NewReader(body))
	if err != nil {
		return false
	}
	defer response.Body.Close()
	var wishes struct {
		Go bool `json:"go"`
	}
	_ = json.NewDecoder(response.Body).Decode(&wishes)
	return wishes.Go
}

// call makes calls at the setting's rate; a call that is late does not make the next one late.
func call(held setting, now *atomic.Pointer[material], counted *tally) {
	period := time.Duration(float64(time.Second) / held.Rate)
	places := make(chan struct{}, mostUnderWay)
	next := time.Now()
	for turn := 0; ; turn++ {
		time.Sleep(time.Until(next))
		next = next.Add(period)
		select {
		case places <- struct{}{}:
		default:
			counted.skip()
			continue
		}
		to := held.Targets[turn%len(held.Targets)]
		go func() {
			kind, why := handshake(to, now.Load())
			counted.add(to.Name, kind, why)
			<-places
		}()
	}
}

func main() {
	var held setting
	if err := json.Unmarshal([]byte(os.Getenv("MESH")), &held); err != nil {
		log.Fatal(err)
	}
	seen := snapshot(held.Folder)
	first, err := load(filepath.Join(held.Folder, seen))
	if err != nil {
		log.Fatal(err)
	}
	var now atomic.Pointer[material]
	now.Store(first)
	go follow(held.Folder, seen, time.Duration(held.Delay*float64(time.Second)), &now)
	if err := serve(held.Listen, &now); err != nil {
		log.Fatal(err)
	}
	counted := &tally{Pod: held.Name, Name: held.Name, Counts: map[string]*count{}, Failures: []failure{}, Tried: map[string]string{}}
	isCalling := false
	for range time.Tick(time.Second) {
		if counted.report(held.Collector) && !isCalling {
			isCalling = true
			go call(held, &now, counted)
		}
	}
}
