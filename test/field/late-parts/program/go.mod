module handover.dev/test-field/late-parts

go 1.26.0
