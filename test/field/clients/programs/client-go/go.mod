module handover.dev/test-field/client-go

go 1.26.0

require k8s.io/client-go v0.36.4
