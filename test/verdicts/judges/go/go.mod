module handover.dev/verdicts

go 1.26
