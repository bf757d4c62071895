{{/* Settings of every process: how the cluster is called, and how Temporal and the cloud are reached. */}}
{{- define "stowage.env" -}}
{{- $temporal := .Values.temporal -}}
- { name: CLUSTER_NAME, value: {{ required "clusterName is missing" .Values.clusterName | quote }} }
- { name: LEADER_ELECTION_NAMESPACE, value: {{ .Release.Namespace | quote }} }
- { name: LEADER_ELECTION_NAME, value: {{ include "stowage.fullname" . }}-leader-election }
- { name: KARPENTER_LEADER_ELECTION_NAMESPACE, value: {{ .Values.karpenterLease.namespace | quote }} }
- { name: METRICS_PORT, value: {{ .Values.metrics.port | quote }} }
- { name: HEALTH_PROBE_PORT, value: '8081' }
{{- if .Values.page.enabled }}
- { name: PAGE_PORT, value: {{ .Values.page.port | quote }} }
{{- with .Values.page.temporalUiUrl }}
- { name: TEMPORAL_UI_URL, value: {{ . | quote }} }
{{- end }}
{{- end }}
{{- with include "stowage.temporalAddress" . }}
- { name: TEMPORAL_ADDRESS, value: {{ . | quote }} }
{{- end }}
{{- with $temporal.namespace }}
- { name: TEMPORAL_NAMESPACE, value: {{ . | quote }} }
{{- end }}
{{- with $temporal.profile }}
{{- if .secretName }}
- { name: TEMPORAL_CONFIG_FILE, value: {{ printf "/etc/stowage/temporal-profile/%s" .key | quote }} }
- { name: TEMPORAL_PROFILE, value: {{ .name | quote }} }
{{- end }}
{{- end }}
{{- with $temporal.tls }}
{{- if or .enabled .secretName .serverName }}
- { name: TEMPORAL_TLS, value: 'true' }
{{- end }}
{{- if .serverName }}
- { name: TEMPORAL_TLS_SERVER_NAME, value: {{ .serverName | quote }} }
{{- end }}
{{- if and .secretName .ca }}
- { name: TEMPORAL_TLS_CA, value: /etc/stowage/temporal-tls/ca.crt }
{{- end }}
{{- if and .secretName .clientCertificate }}
- { name: TEMPORAL_TLS_CERT, value: /etc/stowage/temporal-tls/tls.crt }
- { name: TEMPORAL_TLS_KEY, value: /etc/stowage/temporal-tls/tls.key }
{{- end }}
{{- end }}
{{- if $temporal.apiKey.secretName }}
- { name: TEMPORAL_API_KEY_FILE, value: {{ printf "/etc/stowage/temporal-api-key/%s" $temporal.apiKey.key | quote }} }
{{- end }}
{{- with $temporal.payloadKeys }}
{{- if .secretName }}
- { name: TEMPORAL_PAYLOAD_KEYS_FILE, value: {{ printf "/etc/stowage/temporal-payload-keys/%s" .key | quote }} }
{{- end }}
{{- end }}
{{- with .Values.cloud }}
{{- if .region }}
- { name: AWS_REGION, value: {{ .region | quote }} }
{{- end }}
{{- if .interruptionQueue }}
- { name: INTERRUPTION_QUEUE, value: {{ .interruptionQueue | quote }} }
{{- end }}
{{- if .clusterEndpoint }}
- { name: CLUSTER_ENDPOINT, value: {{ .clusterEndpoint | quote }} }
{{- end }}
{{- if .commitmentsConfigMap }}
- { name: COMMITMENTS_FILE, value: /etc/stowage/commitments/commitments.yaml }
{{- end }}
{{- end }}
{{- with .Values.notifications }}
{{- if .secretName }}
- { name: NOTIFY_SECRET_FILE, value: {{ printf "/etc/stowage/notifications/%s" .key | quote }} }
{{- end }}
{{- if .urlKey }}
- { name: NOTIFY_URL, valueFrom: { secretKeyRef: { name: {{ required "notifications.secretName is empty: it names the Secret that has notifications.urlKey" .secretName }}, key: {{ .urlKey }} } } }
{{- end }}
{{- end }}
{{- with .Values.tracing.endpoint }}
- { name: OTEL_EXPORTER_OTLP_ENDPOINT, value: {{ . | quote }} }
{{- end }}
- { name: NODE_OPTIONS, value: {{ index (dict "small" "--max-semi-space-size=8" "medium" "--max-semi-space-size=16" "large" "--max-semi-space-size=32") .Values.size | quote }} }
{{- if .Values.worker.versioning }}
- { name: WORKER_VERSIONING, value: 'true' }
{{- end }}
{{- range $name, $value := .Values.settings }}
- { name: {{ $name }}, value: {{ $value | quote }} }
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "stowage.mounts" -}}
{{- if .Values.temporal.tls.secretName }}
- { name: temporal-tls, mountPath: /etc/stowage/temporal-tls, readOnly: true }
{{- end }}
{{- if .Values.temporal.profile.secretName }}
- { name: temporal-profile, mountPath: /etc/stowage/temporal-profile, readOnly: true }
{{- end }}
{{- if .Values.temporal.apiKey.secretName }}
- { name: temporal-api-key, mountPath: /etc/stowage/temporal-api-key, readOnly: true }
{{- end }}
{{- if .Values.temporal.payloadKeys.secretName }}
- { name: temporal-payload-keys, mountPath: /etc/stowage/temporal-payload-keys, readOnly: true }
{{- end }}
{{- if .Values.notifications.secretName }}
- { name: notifications, mountPath: /etc/stowage/notifications, readOnly: true }
{{- end }}
{{- if .Values.cloud.commitmentsConfigMap }}
- { name: commitments, mountPath: /etc/stowage/commitments, readOnly: true }
{{- end }}
{{- end }}

{{- define "stowage.volumes" -}}
{{- if .Values.temporal.tls.secretName }}
- { name: temporal-tls, secret: { secretName: {{ .Values.temporal.tls.secretName }}, defaultMode: 0440 } }
{{- end }}
{{- if .Values.temporal.profile.secretName }}
- { name: temporal-profile, secret: { secretName: {{ .Values.temporal.profile.secretName }}, defaultMode: 0440 } }
{{- end }}
{{- if .Values.temporal.apiKey.secretName }}
- { name: temporal-api-key, secret: { secretName: {{ .Values.temporal.apiKey.secretName }}, defaultMode: 0440 } }
{{- end }}
{{- if .Values.temporal.payloadKeys.secretName }}
- { name: temporal-payload-keys, secret: { secretName: {{ .Values.temporal.payloadKeys.secretName }}, defaultMode: 0440 } }
{{- end }}
{{- with .Values.notifications }}
{{- if .secretName }}
- { name: notifications, secret: { secretName: {{ .secretName }}, items: [{ key: {{ .key }}, path: {{ .key }} }], defaultMode: 0440 } }
{{- end }}
{{- end }}
{{- if .Values.cloud.commitmentsConfigMap }}
- { name: commitments, configMap: { name: {{ .Values.cloud.commitmentsConfigMap }} } }
{{- end }}
{{- end }}

{{/* Resources by role and size; those of a cluster with 0 to 100 nodes are measured (docs/image.md), the others are to be watched. */}}
{{- define "stowage.resources" -}}
{{- $own := ternary .root.Values.operator.resources .root.Values.worker.resources (eq .role "operator") -}}
{{- if $own }}{{ toYaml $own }}{{ else -}}
{{- $memory := dict
  "operator" (dict "small" (list "192Mi" "512Mi") "medium" (list "384Mi" "1Gi") "large" (list "1Gi" "3Gi"))
  "worker" (dict "small" (list "384Mi" "1Gi") "medium" (list "1Gi" "2Gi") "large" (list "3Gi" "6Gi"))
  "all" (dict "small" (list "448Mi" "1Gi") "medium" (list "1Gi" "3Gi") "large" (list "4Gi" "8Gi")) -}}
{{- $cpu := dict
  "operator" (dict "small" "50m" "medium" "200m" "large" "500m")
  "worker" (dict "small" "100m" "medium" "500m" "large" "2")
  "all" (dict "small" "150m" "medium" "700m" "large" "2500m") -}}
{{- $found := index $memory .role .root.Values.size -}}
requests: { cpu: {{ index $cpu .role .root.Values.size }}, memory: {{ index $found 0 }} }
limits: { memory: {{ index $found 1 }} }
{{- end }}
{{- end }}
