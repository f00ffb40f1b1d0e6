// cert-manager's webhook, with their own flags.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/cert-manager/cert-manager/internal/webhook"
	"github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/webhook/options"
)

func run(ctx context.Context, arguments []string) error {
	configuration, err := options.NewWebhookConfiguration()
	if err != nil {
		return err
	}
	flags := pflag.NewFlagSet("webhook", pflag.ContinueOnError)
	options.AddConfigFlags(flags, configuration)
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	server, err := webhook.NewCertManagerWebhookServer(logs.Log, *configuration)
	if err != nil {
		return err
	}
	return server.Run(ctx)
}

func main() {
	logs.InitLogs()
	defer logs.FlushLogs()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(logs.NewContext(ctx, logs.Log, "webhook"), os.Args[1:]); err != nil {
		logs.Log.Error(err, "stopped")
		os.Exit(1)
	}
}
