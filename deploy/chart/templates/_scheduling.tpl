{{/* Where pods go: above others, and never on nodes that Stowage itself could remove. */}}
{{- define "stowage.scheduling" -}}
{{- $root := .root -}}
{{- with $root.Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $root.Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $root.Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- $unmanaged := dict "key" "karpenter.sh/nodepool" "operator" "DoesNotExist" }}
{{- $affinity := deepCopy $root.Values.affinity }}
{{- $node := $affinity.nodeAffinity | default dict }}
{{- $required := $node.requiredDuringSchedulingIgnoredDuringExecution | default (dict "nodeSelectorTerms" (list dict)) }}
{{- $terms := list }}
{{- range $required.nodeSelectorTerms }}
{{- $terms = append $terms (mergeOverwrite (deepCopy .) (dict "matchExpressions" (append (.matchExpressions | default list) $unmanaged))) }}
{{- end }}
{{- $_ := set $node "requiredDuringSchedulingIgnoredDuringExecution" (dict "nodeSelectorTerms" $terms) }}
{{- $_ := set $affinity "nodeAffinity" $node }}
affinity: {{- toYaml $affinity | nindent 2 }}
{{- if and .component $root.Values.topologySpread }}
topologySpreadConstraints:
{{- range $key, $unsatisfiable := dict "topology.kubernetes.io/zone" "ScheduleAnyway" "kubernetes.io/hostname" "DoNotSchedule" }}
  - maxSkew: 1
    topologyKey: {{ $key }}
    whenUnsatisfiable: {{ $unsatisfiable }}
    # Nodes with taints that the pods do not tolerate, as of a control plane, are no hosts to spread over.
    nodeTaintsPolicy: Honor
    # Of one version each: an upgrade does not count the pods that go.
    matchLabelKeys: [pod-template-hash]
    labelSelector:
      matchLabels:
        {{- include "stowage.selector" $root | nindent 8 }}
        app.kubernetes.io/component: {{ $.component }}
{{- end }}
{{- end }}
{{- end }}
