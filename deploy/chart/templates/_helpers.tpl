{{/* Names and labels. */}}
{{- define "stowage.fullname" -}}
{{- if contains "stowage" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-stowage" .Release.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "stowage.selector" -}}
app.kubernetes.io/name: stowage
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "stowage.trialSelector" -}}
app.kubernetes.io/name: stowage-temporal
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "stowage.labels" -}}
{{ include "stowage.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "stowage.serviceAccount" -}}
{{- if .Values.serviceAccount.name }}{{ .Values.serviceAccount.name }}{{ else if .Values.serviceAccount.create }}{{ include "stowage.fullname" . }}{{ else }}{{ fail "serviceAccount.name is empty: with serviceAccount.create false it must name a ServiceAccount" }}{{ end }}
{{- end }}

{{- define "stowage.image" -}}
{{- $image := .Values.image -}}
{{ $image.repository }}{{ if $image.digest }}@{{ $image.digest }}{{ else }}:{{ $image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{/* The Deployments, by component, with the role of each. */}}
{{- define "stowage.components" -}}
{{- if eq .Values.mode "single" -}}
stowage: { role: all, replicas: {{ .Values.worker.replicas }} }
{{- else -}}
operator: { role: operator, replicas: {{ .Values.operator.replicas }} }
worker: { role: worker, replicas: {{ .Values.worker.replicas }} }
{{- end }}
{{- end }}

{{- define "stowage.temporalAddress" -}}
{{- with .Values.temporal -}}
{{- if and .trial.enabled .address }}{{ fail "temporal.address and temporal.trial.enabled are both given: one of them is allowed" }}{{ end -}}
{{- if .trial.enabled }}
{{- $secured := dict "apiKey.secretName" .apiKey.secretName "tls.enabled" .tls.enabled "tls.secretName" .tls.secretName "tls.serverName" .tls.serverName -}}
{{- range $name, $given := $secured }}{{ if $given }}{{ fail (printf "temporal.%s is %v beside temporal.trial.enabled: the trial server takes neither TLS nor an API key; leave it empty, or give temporal.address in place of the trial" $name $given) }}{{ end }}{{ end -}}
{{- end -}}
{{- if not (or .trial.enabled .address .profile.secretName) }}{{ fail "temporal.address is missing: give the host and port of a Temporal frontend, or set temporal.trial.enabled to try Stowage out" }}{{ end -}}
{{- if .trial.enabled }}{{ include "stowage.fullname" $ }}-temporal.{{ $.Release.Namespace }}.svc:7233{{ else }}{{ .address }}{{ end -}}
{{- end }}
{{- end }}

{{/* What a container is allowed: nothing but to run. */}}
{{- define "stowage.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- define "stowage.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
seccompProfile: { type: RuntimeDefault }
{{- end }}
