// Package served answers as an aggregated API and as an admission webhook, one handshake for each request.
package served

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	group   = "data.packaging.carvel.dev"
	version = "v1alpha1"
)

// Ready is what /readyz says.
var Ready atomic.Bool

func answer(writer http.ResponseWriter, body any) {
	writer.Header().Set("Content-Type", "application/json")
	writer.Header().Set("Connection", "close")
	_ = json.NewEncoder(writer).Encode(body)
}

func check(writer http.ResponseWriter, request *http.Request) {
	var review struct {
		Request struct {
			UID string `json:"uid"`
		} `json:"request"`
	}
	if err := json.NewDecoder(request.Body).Decode(&review); err != nil {
		http.Error(writer, err.Error(), http.StatusBadRequest)
		return
	}
	answer(writer, map[string]any{
		"apiVersion": "admission.k8s.io/v1",
		"kind":       "AdmissionReview",
		"response":   map[string]any{"uid": review.Request.UID, "allowed": true},
	})
}

func api() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/check", check)
	groupVersion := group + "/" + version
	named := map[string]any{"groupVersion": groupVersion, "version": version}
	documents := map[string]any{
		"/apis": map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": []any{
			map[string]any{"name": group, "versions": []any{named}, "preferredVersion": named}}},
		"/apis/" + group: map[string]any{"kind": "APIGroup", "apiVersion": "v1", "name": group,
			"versions": []any{named}, "preferredVersion": named},
		"/apis/" + groupVersion: map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": groupVersion,
			"resources": []any{map[string]any{"name": "packages", "singularName": "package", "namespaced": false,
				"kind": "Package", "verbs": []string{"get", "list"}}}},
		"/apis/" + groupVersion + "/packages": map[string]any{"kind": "PackageList", "apiVersion": groupVersion,
			"metadata": map[string]any{}, "items": []any{}},
		"/openapi/v2": map[string]any{"swagger": "2.0", "info": map[string]any{"title": "packages", "version": version},
			"paths": map[string]any{}},
	}
	for path, document := range documents {
		mux.HandleFunc(path, func(writer http.ResponseWriter, _ *http.Request) { answer(writer, document) })
	}
	return mux
}

// Ended is done once the process is told to end.
func Ended() context.Context {
	ctx, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	return ctx
}

// Run serves until the process is told to end: the API on 8443, readiness on 8080.
func Run(ctx context.Context, config *tls.Config) error {
	config.NextProtos = []string{"http/1.1"}
	server := &http.Server{Addr: ":8443", Handler: api(), TLSConfig: config, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		_ = http.ListenAndServe(":8080", http.HandlerFunc(func(writer http.ResponseWriter, _ *http.Request) {
			if !Ready.Load() {
				writer.WriteHeader(http.StatusServiceUnavailable)
			}
		}))
	}()
	go func() {
		<-ctx.Done()
		_ = server.Shutdown(context.Background())
		os.Exit(0)
	}()
	return server.ListenAndServeTLS("", "")
}
