// A server that signs for itself at each start and keeps its caBundle in two fields: it looks every 30 s and writes what differs.
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"log"
	"net"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/retry"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"

	"handover.dev/test-field/kapp/served"
)

const (
	every       = 30 * time.Second
	atMost      = 10 * time.Second
	apiService  = "v1alpha1.data.packaging.carvel.dev"
	webhookName = "packaging-check"
)

var tries = wait.Backoff{Steps: 5, Duration: 10 * time.Millisecond, Jitter: 0.1}

type publisher struct {
	kube     kubernetes.Interface
	services aggregator.Interface
	bundle   []byte
}

func (p publisher) sync(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	if err := retry.OnError(tries, errors.IsConflict, func() error { return p.syncService(ctx) }); err != nil {
		return err
	}
	return retry.OnError(tries, errors.IsConflict, func() error { return p.syncWebhook(ctx) })
}

func (p publisher) syncService(ctx context.Context) error {
	services := p.services.ApiregistrationV1().APIServices()
	found, err := services.Get(ctx, apiService, metav1.GetOptions{})
	if err != nil || bytes.Equal(found.Spec.CABundle, p.bundle) {
		return err
	}
	log.Printf("drift: %s", apiService)
	found.Spec.CABundle = p.bundle
	_, err = services.Update(ctx, found, metav1.UpdateOptions{})
	return err
}

func (p publisher) syncWebhook(ctx context.Context) error {
	configurations := p.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	found, err := configurations.Get(ctx, webhookName, metav1.GetOptions{})
	if err != nil || bytes.Equal(found.Webhooks[0].ClientConfig.CABundle, p.bundle) {
		return err
	}
	log.Printf("drift: %s", webhookName)
	found.Webhooks[0].ClientConfig.CABundle = p.bundle
	_, err = configurations.Update(ctx, found, metav1.UpdateOptions{})
	return err
}

func run() error {
	config, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	// RSA-2048, from an hour ago, for a year; what is published is the leaf and the CA that signed it.
	certificate, key, err := cert.GenerateSelfSignedCertKey("kapp-controller",
		[]net.IP{net.ParseIP("127.0.0.1")}, []string{os.Getenv("SERVICE"), "localhost"})
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return err
	}
	own := publisher{bundle: certificate, kube: kubernetes.NewForConfigOrDie(config), services: aggregator.NewForConfigOrDie(config)}
	ctx := served.Ended()
	if err := own.sync(ctx); err != nil {
		return err
	}
	served.Ready.Store(true)
	log.Print("published")
	go wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := own.sync(ctx); err != nil {
			log.Printf("not published: %v", err)
		}
	}, every)
	return served.Run(ctx, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
}

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}
