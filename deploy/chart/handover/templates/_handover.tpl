{{- /* Made by `npm run chart` from packages/install/src; edit that. */ -}}
{{- /* Two installations must not share what has no namespace. */ -}}
{{- define "handover.prefix" -}}
{{- if eq .Release.Namespace "handover-system" }}handover{{ else }}handover-{{ .Release.Namespace }}{{ end -}}
{{- end -}}
