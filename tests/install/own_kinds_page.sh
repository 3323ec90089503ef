# The project of docs/own-kinds.md with an installation at $prefix, sourced by `run`: the files and commands of the page, in its order.
page_source=$work/own_kinds_page_source
python3 -B "$here/../../scripts/doc_code.py" --files docs/own-kinds.md "$page_source"
[[ -f $page_source/src/main.cc && -f $page_source/network.yaml ]] || fail "docs/own-kinds.md has other files"
configure "$page_source" own_kinds_page
cmake --build "$work/own_kinds_page"
cmake --build "$work/own_kinds_page" --target manifests
ctest --test-dir "$work/own_kinds_page" --no-tests=error > "$work/ctest.log" || { cat "$work/ctest.log" >&2; fail "api.manifests fails after target manifests"; }
grep -q 'networks/status' "$page_source/config/rbac/role.yaml" || fail "the role does not have what the program declares"

start "$work/server.log" "$prefix/bin/kubexx" apiserver --data-dir "$work/dev" --kubeconfig-out "$work/kubeconfig"
server=$!
until_said "$work/server.log" 'is ready at' $server
if kubectl=$("$here/../../scripts/build-control-plane" --path --lean newest 2> /dev/null)/kubectl && [[ -x $kubectl ]]; then
  kubectl() { "$kubectl" --kubeconfig "$work/kubeconfig" "$@"; }
  kubectl apply -f "$page_source/config/crd"
  start "$work/manager.log" "$work/own_kinds_page/manager" --kubeconfig "$work/kubeconfig" --health-probe-bind-address=0
  program=$!
  kubectl wait --for condition=Established --timeout=60s crd/networks.samplecrd.k8s.io
  kubectl apply -f "$page_source/network.yaml"
  until_said "$work/manager.log" '^network default/office has 192.168.0.0/16$' $program
  kubectl wait --for 'jsonpath={.status.phase}=Ready' --timeout=60s network/office
  kubectl get networks | tee "$work/said"
  while read -r line; do
    grep -qxF "$line" "$work/said" || fail "kubectl get networks does not print the line of docs/own-kinds.md: $line"
  done < <(sed -n '/^NAME *CIDR/,/^```/p' "$here/../../docs/own-kinds.md" | sed '$d')
  kubectl get net office -o yaml | grep -q 'mtu: 1500' || fail "no default"
  expect 'may not be more than 43' kubectl patch net office --type merge -p "{\"spec\":{\"cidr\":\"$(printf '1%.0s' {1..50})\"}}"
  kill -TERM $program
  wait $program
else
  echo "own_kinds_page: no kubectl was built (make control-plane), so the page's commands are not run; the project was built"
fi
kill -TERM $server
wait $server
