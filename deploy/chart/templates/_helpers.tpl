{{/* One installation serves a cluster, so names do not hold the release's name. */}}
{{- define "why-terminating.fullname" -}}
{{ .Values.fullnameOverride | default .Values.nameOverride | default "why-terminating" }}
{{- end }}

{{- define "why-terminating.namespace" -}}
{{ .Values.namespaceOverride | default .Release.Namespace }}
{{- end }}

{{- define "why-terminating.serviceAccount" -}}
{{ (index .root.Values .component).serviceAccount.name | default (printf "%s-%s" (include "why-terminating.fullname" .root) .component) }}
{{- end }}

{{/* The name and the component are fixed: the plugin finds the agents by them, and selectors cannot be changed. */}}
{{- define "why-terminating.labels" -}}
{{ include "why-terminating.podLabels" . }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- end }}

{{- define "why-terminating.podLabels" -}}
{{ include "why-terminating.selector" . }}
app.kubernetes.io/part-of: why-terminating
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "why-terminating.selector" -}}
app.kubernetes.io/name: why-terminating
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* global.imageRegistry takes the place of the registry, which has a dot or a port. */}}
{{- define "why-terminating.image" -}}
{{- $repository := .image.repository }}
{{- with .root.Values.global.imageRegistry }}
{{- $repository = printf "%s/%s" . (regexReplaceAll "^[^/]*[.:][^/]*/" $repository "") }}
{{- end }}
{{- if .image.digest -}}
{{ $repository }}@{{ .image.digest }}
{{- else -}}
{{ $repository }}:{{ .image.tag | default .root.Chart.AppVersion }}
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
{{- if eq (toString .Values.eventPolicy.enabled) "true" }}
{{- $version := include "why-terminating.kubeVersion" . }}
{{- if semverCompare "<1.30.0-0" $version }}
{{- fail (printf "eventPolicy.enabled is true, and Kubernetes %s knows no ValidatingAdmissionPolicy: it needs 1.30 (kubeVersion says which to render for); auto leaves it out" $version) }}
{{- end }}true
{{- else if and (eq (toString .Values.eventPolicy.enabled) "auto") (semverCompare ">=1.32.0-0" (include "why-terminating.kubeVersion" .)) }}true
{{- end -}}
{{- end }}

{{/* What both pods of `helm test` are: as restricted as can be. */}}
{{- define "why-terminating.testPod" -}}
serviceAccountName: {{ include "why-terminating.fullname" . }}-test
automountServiceAccountToken: false
# By its links the test finds the service where no DNS answers.
enableServiceLinks: true
restartPolicy: Never
nodeSelector:
  {{- toYaml .Values.aggregator.nodeSelector | nindent 2 }}
{{- with .Values.aggregator.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsUser: 65532
  runAsGroup: 65532
  runAsNonRoot: true
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{- define "why-terminating.testContainer" -}}
image: {{ include "why-terminating.image" (dict "root" . "image" .Values.aggregator.image) }}
imagePullPolicy: {{ .Values.aggregator.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
resources:
  requests:
    cpu: 10m
    memory: 16Mi
  limits:
    memory: 64Mi
{{- end }}
