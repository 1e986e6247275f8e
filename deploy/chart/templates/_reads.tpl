{{/* What service and plugin read besides their watches. No Secrets. No rule repeats another: a test fails on unused
     rights. Of some kinds only the metadata in a list is read, unless a user names one object: `named`. */}}
{{- define "why-terminating.reads" -}}
- apiGroups: [""]
  resources: [endpoints, replicationcontrollers, serviceaccounts, services]
  verbs: [get, list]
# Any of these may be all that remains in a namespace. Only metadata is asked for; RBAC cannot grant that alone.
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
