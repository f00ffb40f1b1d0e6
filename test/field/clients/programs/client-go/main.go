// Asks the API server for its version, again and again, with the configuration that client-go finds in a pod. Prints one line
// whenever the outcome changes, and when its CA file does.
package main

import (
	"bytes"
	"encoding/json"
	"log"
	"os"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const ca = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"

func say(what string, count int, why string) {
	line := map[string]any{"at": time.Now().UnixMilli(), "what": what, "count": count, "why": why}
	_ = json.NewEncoder(os.Stdout).Encode(line)
}

func main() {
	config, err := rest.InClusterConfig()
	if err != nil {
		log.Fatal(err)
	}
	config.Timeout = 5 * time.Second
	// No pauses of its own: a figure is to show its trust, not its rate limit.
	config.QPS = -1
	client := kubernetes.NewForConfigOrDie(config)
	file, err := os.ReadFile(ca)
	if err != nil {
		log.Fatal(err)
	}
	last := ""
	for count := 1; ; count++ {
		_, err := client.Discovery().ServerVersion()
		what, why := "ok", ""
		if err != nil {
			what, why = "failed", err.Error()
		}
		if what != last {
			last = what
			say(what, count, why)
		}
		if now, err := os.ReadFile(ca); err == nil && !bytes.Equal(now, file) {
			file = now
			say("file", count, "")
		}
		time.Sleep(100 * time.Millisecond)
	}
}
