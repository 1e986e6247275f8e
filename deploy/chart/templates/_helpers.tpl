{{/* Names are fixed: the plugin finds the agents by their labels, and the policy by its name. */}}
{{- define "why-terminating.labels" -}}
app.kubernetes.io/name: why-terminating
app.kubernetes.io/component: {{ .component }}
app.kubernetes.io/part-of: why-terminating
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- end }}

{{- define "why-terminating.selector" -}}
app.kubernetes.io/name: why-terminating
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "why-terminating.image" -}}
{{- if .image.digest -}}
{{ .image.repository }}@{{ .image.digest }}
{{- else -}}
{{ .image.repository }}:{{ .image.tag | default .root.Chart.AppVersion }}
{{- end -}}
{{- end }}

{{- define "why-terminating.kubeVersion" -}}
{{ .Values.kubeVersion | default .Capabilities.KubeVersion.Version }}
{{- end }}

{{/* AppArmor: a field from 1.30, before that an annotation. */}}
{{- define "why-terminating.appArmorField" -}}
{{- if semverCompare ">=1.30.0-0" (include "why-terminating.kubeVersion" .) }}true{{ end -}}
{{- end }}

{{/* A policy for Events: the API from 1.30, and pods' tokens that name their node from 1.32. */}}
{{- define "why-terminating.eventPolicy" -}}
{{- if eq (toString .Values.eventPolicy.enabled) "true" }}true
{{- else if and (eq (toString .Values.eventPolicy.enabled) "auto") (semverCompare ">=1.32.0-0" (include "why-terminating.kubeVersion" .)) }}true
{{- end -}}
{{- end }}
