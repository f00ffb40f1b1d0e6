// cert-manager's own conformance suite for issuers, against an issuer of any kind. Every case has a namespace of its own; the objects that
// make the issuer there come in the environment. The report is Ginkgo's: --ginkgo.json-report=FILE.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/cert-manager/cert-manager/internal/controller/feature"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	utilfeature "github.com/cert-manager/cert-manager/pkg/util/feature"
	"github.com/cert-manager/cert-manager/test/e2e/framework"
	"github.com/cert-manager/cert-manager/test/e2e/framework/helper/featureset"
	"github.com/cert-manager/cert-manager/test/e2e/suite/conformance/certificates"
)

type setting struct {
	Kubeconfig string `json:"kubeconfig"`
	// The issuerRef of every Certificate.
	Ref struct{ Group, Kind, Name string } `json:"ref"`
	// Created in this order in the namespace of each case.
	Objects []map[string]any `json:"objects"`
	// Features of the suite that the issuer does not have; their cases are left out.
	Unsupported []featureset.Feature `json:"unsupported"`
}

func createIn(f *framework.Framework, objects []map[string]any) {
	for _, object := range objects {
		one := (&unstructured.Unstructured{Object: object}).DeepCopy()
		one.SetNamespace(f.Namespace.Name)
		gomega.Expect(f.CRClient.Create(context.Background(), one)).To(gomega.Succeed())
	}
}

type outcome struct{ failed bool }

func (o *outcome) Fail() { o.failed = true }

func main() {
	var given setting
	if err := json.Unmarshal([]byte(os.Getenv("CONFORMANCE")), &given); err != nil {
		fmt.Fprintln(os.Stderr, "CONFORMANCE:", err)
		os.Exit(2)
	}
	flag.Parse()
	config := framework.DefaultConfig
	config.KubeConfig = given.Kubeconfig
	config.Cleanup = true
	// What the cases with an Ingress put into it; no request goes there.
	config.Addons.IngressController.Domain = "ingress.example.com"
	config.Addons.ACMEServer.IngressIP = "127.0.0.1"
	// On by default in the cert-manager that is tested.
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{string(feature.LiteralCertificateSubject): true}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	wait.ForeverTestTimeout = 60 * time.Second

	framework.ConformanceDescribe("Certificates", func() {
		(&certificates.Suite{
			Name:           given.Ref.Kind + "." + given.Ref.Group,
			HTTP01TestType: "Ingress",
			CreateIssuerFunc: func(f *framework.Framework) cmmeta.ObjectReference {
				createIn(f, given.Objects)
				return cmmeta.ObjectReference{Group: given.Ref.Group, Kind: given.Ref.Kind, Name: given.Ref.Name}
			},
			UnsupportedFeatures: featureset.NewFeatureSet(given.Unsupported...),
		}).Define()
	})
	gomega.RegisterFailHandler(ginkgo.Fail)
	told := &outcome{}
	ginkgo.RunSpecs(told, "cert-manager's conformance suite")
	if told.failed {
		os.Exit(1)
	}
}
