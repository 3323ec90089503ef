# docs/scaffolding.md with an installation at $prefix, sourced by `run`: from an empty folder to an object with a status, then all that
# `kubexx create` makes.
# Drops the settings of the make that runs the tests.
unset MAKEFLAGS MFLAGS MAKELEVEL BUILD KUBECTL ENGINE CLUSTER
scaffold_source=$work/guestbook
kubexx() { "$prefix/bin/kubexx" "$@" --project-dir "$scaffold_source"; }
scaffold_flags="-DCMAKE_PREFIX_PATH='$prefix' -DCMAKE_CXX_COMPILER='$cxx' -DCMAKE_CXX_FLAGS='$flags -Wall -Wextra -Werror'"
scaffold_make() {  # TARGETS...: keeps what was said in $work/made
  make -C "$scaffold_source" CMAKE_FLAGS="$scaffold_flags" "$@" \
    > "$work/made" 2>&1 || { cat "$work/made" >&2; fail "make $* fails in a scaffolded project"; }
}

# The page's commands, in its order, as its reader runs them: in one shell, with the programs on PATH.
page() { python3 -B "$here/scaffold_page.py" "$here/../../docs/scaffolding.md" "$@"; }
kubectl=$("$here/../../scripts/build-control-plane" --path --lean newest 2> /dev/null)/kubectl || kubectl=
SECONDS=0
(cd "$work" && PATH=$prefix/bin:$PATH bash -euc "$(page 1)" > /dev/null)
page --edit "$scaffold_source"
(cd "$scaffold_source" && CMAKE_FLAGS=$scaffold_flags bash -euc "$(page 2)" > "$work/made" 2>&1) || { cat "$work/made" >&2; fail "make test fails in a scaffolded project"; }
grep -q 'tests passed' "$work/made" || { cat "$work/made" >&2; fail "make test ran no tests"; }
grep -q 'maxLength: 10' "$scaffold_source/config/crd/webapp.my.domain_guestbooks.yaml" || fail "make test did not write the CRD"

if [[ -x $kubectl ]]; then
  unset -f kubectl
  child() { cat "/proc/$1/task/$1/children"; }  # of make
  cd "$scaffold_source"
  old_path=$PATH
  PATH=$prefix/bin:$(dirname "$kubectl"):$PATH
  export ARGS='--health-probe-bind-address=0 --webhook-port=0'
  while IFS= read -r line; do
    case $line in
      'make server &'*)
        start "$work/server.log" make server
        server=$!
        until_said "$work/server.log" 'is ready at' $server
        ;;
      'make run &'*)
        start "$work/manager.log" make run
        program=$!
        ;;
      'kubectl get guestbooks')
        kubectl wait --for condition=Ready --timeout=60s guestbook/guestbook-sample
        eval "$line" < /dev/null | tee "$work/said"
        ;;
      *) eval "$line" < /dev/null ;;
    esac
  done < <(page 3)
  for word in NAME READY AGE guestbook-sample True; do grep -qw "$word" "$work/said" || fail "kubectl get guestbooks does not print what docs/scaffolding.md shows"; done
  kubectl get guestbook guestbook-sample -o yaml > "$work/said"
  grep -q 'message: foo is hello' "$work/said" || fail "the status is not that of the edited controller"
  echo "scaffold: $SECONDS s from an empty folder to a status"
  expect 'may not be more than 10' kubectl patch guestbook guestbook-sample --type merge -p '{"spec":{"foo":"12345678901"}}'
  kill -TERM $(child $program)
  wait $program

  # What `make deploy` applies is complete: all objects, in the project's namespace, and the server takes them.
  kubectl create namespace guestbook-system
  kubectl kustomize deploy > "$work/deployed.yaml"
  ! grep -q 'namespace: system' "$work/deployed.yaml" || fail "make deploy leaves the placeholder of the namespace"
  kubectl apply --server-side --dry-run=server -f "$work/deployed.yaml" | tee "$work/said"
  [[ $(grep -c 'serverside-applied' "$work/said") == $(grep -c '^kind:' "$work/deployed.yaml") ]] || fail "the server refuses what make deploy applies"
  kill -TERM $(child $server)
  wait $server
  cd "$here"
  PATH=$old_path
  unset KUBECONFIG ARGS
else
  echo "scaffold: no kubectl was built (make control-plane), so no sample is applied; $SECONDS s from an empty folder to green tests"
fi

# Another version with conversion, a kind of another group, a built-in kind: they add, and leave the user's files alone.
users() { (cd "$scaffold_source" && find api src tests config/samples Makefile CMakeLists.txt README.md -type f -exec md5sum {} + | sort); }
users > "$work/users"
kubexx create api --group webapp --version v2 --kind Guestbook > /dev/null
kubexx create webhook --version v2 --kind Guestbook --conversion > /dev/null
kubexx create api --group sea-creatures --version v1beta1 --kind Guestbook --cluster-scoped > /dev/null
kubexx create api --group core --version v1 --kind Pod --resource=false > /dev/null
kubexx create webhook --group core --version v1 --kind Pod --defaulting > /dev/null
[[ -z $(users | comm -23 "$work/users" -) ]] || fail "kubexx create has changed a file of the user"
scaffold_make test
for test in GuestbookControllerTest GuestbookConversionTest SeaCreaturesGuestbookControllerTest PodControllerTest PodWebhookTest; do
  grep -q "$test\..*Passed" "$work/made" || { cat "$work/made" >&2; fail "$test did not run"; }
done
expect 'guestbook_controller.cc: exists' kubexx create api --group webapp --version v1 --kind Guestbook

# The root folder of the image. AddressSanitizer needs /proc, so the program runs in it only without.
sh "$scaffold_source/deploy/make-root" "$scaffold_source/build/manager" "$work/image_root"
if [[ $(id -u) == 0 && $flags != *-fsanitize* ]]; then chroot "$work/image_root" /manager --version; fi
