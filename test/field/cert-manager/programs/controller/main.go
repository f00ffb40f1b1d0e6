// cert-manager's controller: every controller that their own program runs by default, except those of ACME, Vault and Venafi, which need
// services that are not here. Without leader election: there is one.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cert-manager/cert-manager/pkg/controller"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificate-shim/ingresses"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/metrics"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/clusterissuers"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
	"github.com/cert-manager/cert-manager/pkg/logs"
)

// Their defaults (internal/apis/config/controller/v1alpha1).
const workers = 5

var options = controller.ContextOptions{
	KubernetesAPIQPS:   20,
	KubernetesAPIBurst: 50,
	IssuerOptions:      controller.IssuerOptions{ClusterResourceNamespace: os.Getenv("POD_NAMESPACE")},
	IngressShimOptions: controller.IngressShimOptions{DefaultIssuerKind: "Issuer", DefaultIssuerGroup: "cert-manager.io"},
	CertificateOptions: controller.CertificateOptions{
		CopiedAnnotationPrefixes:                 []string{"*", "-kubectl.kubernetes.io/", "-fluxcd.io/", "-argocd.argoproj.io/"},
		CertificateRequestMinimumBackoffDuration: time.Hour,
		CertificateRequestMaximumBackoffDuration: 32 * time.Hour,
	},
}

func run(parent context.Context) error {
	group, ctx := errgroup.WithContext(parent)
	factory, err := controller.NewContextFactory(ctx, options)
	if err != nil {
		return err
	}
	shared, err := factory.Build()
	if err != nil {
		return err
	}
	// Each asks for its informers while it is made; they start afterwards.
	for name, make := range controller.Known() {
		one, err := make(factory)
		if err != nil {
			return err
		}
		logs.Log.Info("starting", "controller", name)
		group.Go(func() error { return one.Run(workers, ctx) })
	}
	shared.SharedInformerFactory.Start(ctx.Done())
	shared.KubeSharedInformerFactory.Start(ctx.Done())
	return group.Wait()
}

func main() {
	logs.InitLogs()
	defer logs.FlushLogs()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(logs.NewContext(ctx, logs.Log, "controller")); err != nil {
		logs.Log.Error(err, "stopped")
		os.Exit(1)
	}
}
