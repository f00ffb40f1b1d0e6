module handover.dev/go

go 1.24
