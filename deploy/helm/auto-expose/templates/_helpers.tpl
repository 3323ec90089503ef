{{- define "auto-expose.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "auto-expose.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains (include "auto-expose.name" .) .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "auto-expose.name" .) | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "auto-expose.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "auto-expose.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- required "serviceAccount.name is needed where serviceAccount.create is false" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "auto-expose.selectorLabels" -}}
app.kubernetes.io/name: {{ include "auto-expose.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "auto-expose.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "auto-expose.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "auto-expose.args" -}}
{{- if and (gt (int .Values.replicas) 1) (not .Values.leaderElection.enabled) }}
{{- fail "more than one replica needs leaderElection.enabled: they would work against each other" }}
{{- end }}
- --opt-in={{ .Values.optIn }}
- --kinds={{ join "," .Values.kinds }}
{{- with .Values.watchNamespace }}
- --namespace={{ . }}
{{- end }}
{{- with .Values.namespaces }}
- --namespaces={{ join "," . }}
{{- end }}
{{- with .Values.excludeNamespaces }}
- --exclude-namespaces={{ join "," . }}
{{- end }}
{{- with .Values.selector }}
- {{ printf "--selector=%s" . | quote }}
{{- end }}
- --service-type={{ .Values.serviceType }}
- --ingress={{ .Values.exposure }}
{{- with .Values.domain }}
- --domain={{ . }}
{{- end }}
{{- with .Values.host }}
- {{ printf "--host=%s" . | quote }}
{{- end }}
{{- with .Values.path }}
- {{ printf "--path=%s" . | quote }}
{{- end }}
- --path-type={{ .Values.pathType }}
{{- with .Values.tls.secret }}
- {{ printf "--tls-secret=%s" . | quote }}
{{- end }}
{{- with .Values.tls.clusterIssuer }}
- --cluster-issuer={{ . }}
{{- end }}
{{- with .Values.tls.issuer }}
- --issuer={{ . }}
{{- end }}
{{- with .Values.ingress.className }}
- --ingress-class={{ . }}
{{- end }}
{{- range $key, $value := .Values.ingress.annotations }}
- {{ printf "--ingress-annotation=%s=%s" $key $value | quote }}
{{- end }}
{{- if eq .Values.exposure "gateway" }}
- --gateway={{ required "gateway is needed with exposure: gateway" .Values.gateway }}
{{- end }}
{{- range $name, $list := dict "allow-hosts" .Values.allow.hosts "allow-ingress-annotations" .Values.allow.ingressAnnotations "allow-ingress-classes" .Values.allow.ingressClasses "allow-service-types" .Values.allow.serviceTypes "allow-issuers" .Values.allow.issuers "allow-cluster-issuers" .Values.allow.clusterIssuers "allow-tls-secrets" .Values.allow.tlsSecrets }}
{{- with $list }}
- {{ printf "--%s=%s" $name (join "," .) | quote }}
{{- end }}
{{- end }}
- --allow-namespace-hosts={{ .Values.allow.namespaceHosts }}
- --workers={{ .Values.workers }}
- --resync={{ .Values.resync }}
{{- if .Values.leaderElection.enabled }}
- --leader-elect
- --leader-elect-lease-name={{ include "auto-expose.fullname" . }}
{{- end }}
- --health-probe-bind-address=:{{ .Values.healthPort }}
{{- if .Values.metrics.enabled }}
- --metrics-bind-address=:{{ .Values.metrics.port }}
- --metrics-secure={{ .Values.metrics.secure }}
{{- if .Values.metrics.certificateSecret }}
{{- if not .Values.metrics.secure }}
{{- fail "metrics.certificateSecret needs metrics.secure" }}
{{- end }}
- --metrics-cert-path=/etc/auto-expose/metrics-certificate
{{- end }}
{{- end }}
- --logging-format={{ .Values.log.format }}
- -v={{ .Values.log.verbosity }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}

{{/* What the program does in the namespaces of workloads. `auto-expose --print-rbac` is where these come from; tests/deploy compares. */}}
{{- define "auto-expose.workRules" -}}
- apiGroups: [""]
  resources: [services]
  verbs: [create, delete, get, list, patch, watch]
- apiGroups: [apps]
  resources: [{{ join ", " .Values.kinds }}]
  verbs: [list, watch]
- apiGroups: [apps]
  resources: [{{ range $i, $kind := .Values.kinds }}{{ if $i }}, {{ end }}{{ $kind }}/finalizers{{ end }}]
  verbs: [update]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
- apiGroups: [networking.k8s.io]
  resources: [ingresses]
  verbs: [create, delete, get, list, patch, watch]
{{- if eq .Values.exposure "gateway" }}
- apiGroups: [gateway.networking.k8s.io]
  resources: [httproutes]
  verbs: [create, delete, get, list, patch, watch]
{{- else if eq .Values.exposure "ingress" }}
# Hosts that routes of others have.
- apiGroups: [gateway.networking.k8s.io]
  resources: [httproutes]
  verbs: [list, watch]
{{- end }}
{{- end }}

{{/* What it reads of the whole cluster to keep namespaces apart. A role for one namespace has none of it. */}}
{{- define "auto-expose.clusterRules" -}}
{{- if and .Values.allow.namespaceHosts (ne .Values.exposure "none") }}
- apiGroups: [""]
  resources: [namespaces]
  verbs: [list, watch]
{{- end }}
{{- if and (eq .Values.exposure "ingress") (not .Values.ingress.className) }}
- apiGroups: [networking.k8s.io]
  resources: [ingressclasses]
  verbs: [list]
{{- end }}
{{- end }}

{{/* Of these rules what a watch takes, or all but that: dict "rules" TEXT "watch" BOOL. */}}
{{- define "auto-expose.someRules" -}}
{{- $some := list }}
{{- range $rule := fromYamlArray .rules }}
{{- $verbs := list }}
{{- range $rule.verbs }}
{{- if eq $.watch (has . (list "list" "watch")) }}
{{- $verbs = append $verbs . }}
{{- end }}
{{- end }}
{{- if $verbs }}
{{- $some = append $some (merge (dict "verbs" $verbs) $rule) }}
{{- end }}
{{- end }}
{{- toYaml $some }}
{{- end }}

{{/* Namespaces with a role of their own, as a YAML list. The others in `namespaces` are those that are always left out. */}}
{{- define "auto-expose.writtenNamespaces" -}}
{{- if .Values.watchNamespace }}
{{- toYaml (list .Values.watchNamespace) }}
{{- else }}
{{- $written := list }}
{{- range .Values.namespaces }}
{{- if not (has . (concat $.Values.excludeNamespaces (list "kube-system" $.Release.Namespace))) }}
{{- $written = append $written . }}
{{- end }}
{{- end }}
{{- toYaml (uniq $written) }}
{{- end }}
{{- end }}

{{- define "auto-expose.image" -}}
{{- $image := .Values.image.repository }}
{{- if or .Values.image.tag (not .Values.image.digest) }}
{{- $image = printf "%s:%s" $image (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- with .Values.image.digest }}
{{- $image = printf "%s@%s" $image . }}
{{- end }}
{{- $image }}
{{- end }}

{{- define "auto-expose.subject" -}}
subjects:
- kind: ServiceAccount
  name: {{ include "auto-expose.serviceAccount" . }}
  namespace: {{ .Release.Namespace }}
{{- end }}
