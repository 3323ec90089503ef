# A project with kinds of its own, sourced by `run` with an installation at $prefix. It is edited, so it is a copy.
cp -r "$here/own_kind" "$work/own_kind_source"
source=$work/own_kind_source
build_own_kind() {  # [TARGET...]: builds, and keeps what ninja did in $work/built
  ninja -C "$work/own_kind" -v "$@" > "$work/built" || { cat "$work/built" >&2; fail "own_kind does not build"; }
}
compiled() {  # the sources that the last build compiled, in one line
  grep -oE '[a-z0-9_]+(\.kube)?\.cc\.o -c' "$work/built" | sed 's/\.o -c//' | sort | tr '\n' ' '
}
expect_compiled() {  # SOURCES
  [[ $(compiled) == "$1" ]] || { cat "$work/built" >&2; fail "compiled \"$(compiled)\" instead of \"$1\""; }
}
edit() {  # FILE SED_SCRIPT: fails if nothing changes
  cp "$source/$1" "$work/before"
  sed -i "$2" "$source/$1"
  ! cmp -s "$source/$1" "$work/before" || fail "$1: nothing to edit"
}
check_manifests() { ctest --test-dir "$work/own_kind" -R '^(api|extra)\.manifests$' --no-tests=error --output-on-failure > "$work/ctest.log" 2>&1; }
role=$source/config/rbac/role.yaml
resources() { grep -oE '^  - [a-z/]+$' "$role" | sed 's/  - //' | grep -vxE 'get|list|watch|create|update|patch|delete' | sort -u | tr '\n' ' '; }

configure "$source" own_kind
build_own_kind
expect_compiled 'api_v1_network_types.kube.cc api_v1_route_types.kube.cc controller.cc extra_types.kube.cc main.cc '
build_own_kind
grep -q 'no work to do' "$work/built" || { cat "$work/built" >&2; fail "a second build has work to do"; }

! check_manifests || fail "api.manifests passes without manifests"
grep -q 'stale: .*own.example.com_networks.yaml' "$work/ctest.log" || { cat "$work/ctest.log" >&2; fail "api.manifests does not name what is stale"; }
build_own_kind manifests
check_manifests || { cat "$work/ctest.log" >&2; fail "api.manifests fails although the manifests are new"; }
grep -q 'maxLength: 43' "$source/config/crd/own.example.com_networks.yaml" || fail "no CRD of the kind"

# The role has what the program registers (networks, and a lease called controller because of its argument), and the markers of its sources (nodes) and of the other
# call's header (secrets).
[[ $(resources) == 'controller leases networks nodes secrets ' ]] || { cat "$role" >&2; fail "the role has: $(resources)"; }
edit controller.cc 's|^// +kubebuilder:rbac.*|&\n// +kubebuilder:rbac:groups="",resources=pods,verbs=get|'
build_own_kind
! check_manifests || fail "the manifests are not stale although a source has another marker"
build_own_kind manifests
check_manifests || { cat "$work/ctest.log" >&2; fail "the manifests are stale although they are new"; }
[[ $(resources) == *pods* ]] || fail "the role does not follow a source"

# The program creates an object of its kind on a server that has the generated CRD.
start "$work/server.log" "$prefix/bin/kubexx" apiserver --kubeconfig-out "$work/kubeconfig" \
  --load "$source/config/crd/own.example.com_networks.yaml"
server=$!
until_said "$work/server.log" 'is ready at' $server
"$work/own_kind/manager" --kubeconfig "$work/kubeconfig" > "$work/said"
grep -q '"apiVersion":"own.example.com/v1","metadata":{"name":"office".*"spec":{"cidr":"192.168.0.0/16"}' "$work/said" ||
  { cat "$work/said" >&2; fail "the server's Network is not the one that was created"; }
kill -TERM $server
wait $server

# A field more: its table and its users are compiled, the other kind is not.
edit api/v1/network_types.h 's|^  Address cidr{};|&\n  std::optional<std::int32_t> mtu{};|'
build_own_kind
expect_compiled 'api_v1_network_types.kube.cc controller.cc main.cc '
! check_manifests || fail "api.manifests passes although the types have changed"
build_own_kind manifests
check_manifests || fail "target manifests did not bring the manifests up to date"

# An included header counts too, also for errors.
edit api/v1/address.h 's|MaxLength=43|MaxLenth=43|'
! ninja -C "$work/own_kind" > "$work/said" 2>&1 || fail "a misspelt marker in an included header was not seen"
grep -q 'address.h:7:.*did you mean' "$work/said" || { cat "$work/said" >&2; fail "the error does not name the line of address.h"; }
edit api/v1/address.h 's|MaxLenth=43|MaxLength=39|'
build_own_kind manifests
grep -q 'maxLength: 39' "$source/config/crd/own.example.com_networks.yaml" || fail "the CRD does not follow an included header"

# Another command; as if cross-compiling, if the one beside the package is for another machine.
printf '#!/bin/sh\nexec "%s" "$@"\n' "$prefix/bin/kubexx" > "$work/kubexx_of_this_machine"
chmod +x "$work/kubexx_of_this_machine"
cross=(-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=riscv64)
expect 'pass -DKUBEXX_COMMAND=/path/to/kubexx' configure "$source" cross "${cross[@]}"
expect 'which is not a file' configure "$source" cross "${cross[@]}" -DKUBEXX_COMMAND="$work/nonesuch"
expect 'cross-compiling, so controller cannot be run: target manifests writes CRDs only' \
  configure "$source" cross "${cross[@]}" -DKUBEXX_COMMAND="$work/kubexx_of_this_machine" --log-level=STATUS
cp "$role" "$work/role"
edit api/v1/address.h 's|MaxLength=39|MaxLength=38|'
ninja -C "$work/cross" api_tables manifests > "$work/said"
grep -q 'CRDs only, because controller is for another machine' "$work/said" || fail "cross: target manifests does not say that the program is not run"
grep -q 'maxLength: 38' "$source/config/crd/own.example.com_networks.yaml" || fail "cross: the CRD is not written"
cmp -s "$role" "$work/role" || fail "cross: the role has changed, although the program cannot be run"
[[ -s $work/cross/api/api.kube/api_v1_network_types.kube.cc ]] || fail "cross: no table was made"
! grep -qF "$prefix/bin/kubexx" "$work/cross/build.ninja" || fail "cross: the command of the other machine is used"
