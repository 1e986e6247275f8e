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
{{- if eq (toString .Values.eventPolicy.enabled) "true" }}
{{- $version := include "why-terminating.kubeVersion" . }}
{{- if semverCompare "<1.30.0-0" $version }}
{{- fail (printf "eventPolicy.enabled is true, and Kubernetes %s knows no ValidatingAdmissionPolicy: it needs 1.30 (kubeVersion says which to render for); auto leaves it out" $version) }}
{{- end }}true
{{- else if and (eq (toString .Values.eventPolicy.enabled) "auto") (semverCompare ">=1.32.0-0" (include "why-terminating.kubeVersion" .)) }}true
{{- end -}}
{{- end }}

{{/* What service and plugin read besides their watches. No Secrets. No rule repeats another: a test fails on unused
     rights. Of some kinds only the metadata in a list is read, unless a user names one object: `named`. */}}
{{- define "why-terminating.reads" -}}
- apiGroups: [""]
  resources: [endpoints, replicationcontrollers, serviceaccounts, services]
  verbs: [get, list]
- apiGroups: [""]
  resources: [configmaps, limitranges, podtemplates, resourcequotas]
  verbs: [{{ if .named }}get, {{ end }}list]
- apiGroups: [""]
  resources: [events]
  verbs: [list]
# Kubernetes' own groups, none with Secrets: any kind can be what remains.
- apiGroups:
    - admissionregistration.k8s.io
    - apiregistration.k8s.io
    - apps
    - autoscaling
    - batch
    - coordination.k8s.io
    - events.k8s.io
    - networking.k8s.io
    - storage.k8s.io
  resources: ["*"]
  verbs: [get, list]
- apiGroups:
    - certificates.k8s.io
    - discovery.k8s.io
    - flowcontrol.apiserver.k8s.io
    - node.k8s.io
    - policy
    - rbac.authorization.k8s.io
    - resource.k8s.io
    - scheduling.k8s.io
  resources: ["*"]
  verbs: [{{ if .named }}get, {{ end }}list]
{{- with .root.Values.aggregator.rbac.groups }}
- apiGroups:
    {{- toYaml . | nindent 4 }}
  resources: ["*"]
  verbs: [get, list]
{{- end }}
{{- end }}

{{/* What both pods of `helm test` are: as restricted as can be. */}}
{{- define "why-terminating.testPod" -}}
serviceAccountName: why-terminating-test
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
