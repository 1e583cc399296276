#!/usr/bin/env bash
# Two machines and a server, each in a network namespace of its own. Prints transcript.txt. Needs
# root, `ip netns`, and `npm run build` before it. Removes all it has created, also after a failure.
set -euo pipefail

[ "$(id -u)" = 0 ] || { echo 'not root: cannot create network namespaces' >&2; exit 2; }
command -v ip > /dev/null || { echo '`ip` was not found: install iproute2' >&2; exit 2; }
root=$(cd "$(dirname "$0")/../.." && pwd)
node=$(ls "$root"/node_modules/node-linux-*/bin/node 2> /dev/null | head -n 1 || true)
node=${node:-$(command -v node)}
[ -f "$root/server/dist/main.js" ] || { echo 'not built: run `npm run build` first' >&2; exit 2; }

here=$(mktemp -d)
spaces="palisade-$$"
declare -A pids=() days=([one]=0 [two]=0 [server]=0)

clean_up() {
  local name left
  for name in "${!pids[@]}"; do kill "${pids[$name]}" 2> /dev/null || true; done
  for name in "${!pids[@]}"; do wait "${pids[$name]}" 2> /dev/null || true; done
  for name in server one two; do
    # Only this script creates processes in the namespace, so all of them can be killed.
    for left in $(ip netns pids "$spaces-$name" 2> /dev/null); do kill -KILL "$left" || true; done
    ip netns del "$spaces-$name" 2> /dev/null || true
  done
  rm -rf "$here"
}
trap clean_up EXIT
trap 'exit 130' HUP INT TERM
trap 'echo "line $LINENO failed" >&2' ERR

# --- machines -----------------------------------------------------------------------------------

make_machine() {
  mkdir -p "$here/$1/me" && mkdir -m 0700 "$here/$1/data" "$here/$1/data/agent"
  ip netns add "$spaces-$1"
  ip -n "$spaces-$1" link set lo up
}

# A cable from machine $1, with address $2, into the switch at the server.
plug_in() {
  local port="to-$1"
  ip -n "$spaces-server" link add "$port" type veth peer name eth0 netns "$spaces-$1"
  ip -n "$spaces-server" link set "$port" master switch up
  ip -n "$spaces-$1" addr add "$2/24" dev eth0
  ip -n "$spaces-$1" link set eth0 up
}

# Replaces the shell by our program $2 on machine $1; the rest are its arguments.
become() {
  local machine=$1 program=$2
  shift 2
  cd "$here/$machine"
  # Only these variables: the caller's environment must not leak in.
  exec ip netns exec "$spaces-$machine" env -i PATH="$PATH" HOME="$here/$machine" NO_COLOR=1 \
    PALISADE_DATA_DIR="$here/$machine/data" PALISADE_CONFIG_DIR="$here/$machine/me" \
    PALISADE_HOST=192.0.2.1 PALISADE_PUBLIC_URL=http://192.0.2.1:8420 PALISADE_LOG_LEVEL=warn \
    "$node" --import "file://$root/examples/two-machines/later.mjs?days=${days[$machine]}" \
    "$root/$program" "$@"
}

palisade() { (become "$1" packages/cli/dist/main.js "${@:2}"); }
palisade_server() { (become server server/dist/main.js "$@"); }

start() {
  local machine=$1 program=agent/dist/main.js
  [ "$machine" != server ] || program=server/dist/main.js
  become "$machine" "$program" start >> "$here/$machine/log" 2>&1 &
  pids[$machine]=$!
  if [ "$machine" = server ]; then
    wait_for ip netns exec "$spaces-server" curl -sf -o "$here/ready" http://192.0.2.1:8420/readyz
  else
    wait_for palisade "$machine" status
  fi
}

stop() {
  kill "${pids[$1]}"
  wait "${pids[$1]}" 2> /dev/null || true
  unset "pids[$1]"
}

wait_for() {
  local tries
  for ((tries = 0; tries < 300; tries += 1)); do
    "$@" > "$here/waited" 2>&1 && return
    sleep 0.2
  done
  echo "waited in vain for: $*" >&2
  cat "$here/waited" >&2
  return 1
}

# --- output -------------------------------------------------------------------------------------

note() { printf '# %s\n' "$1"; }

heading() {
  [ -z "${headed:-}" ] || printf '\n'
  headed=yes
  printf '## %s\n\n' "$1"
}

# `show ok one status`: runs `palisade status` on machine one, prints the command as typed and its
# output; fails if the exit code is not the expected one (`ok` is 0).
show() {
  local expected=${1/ok/0} machine=$2 code=0 word
  shift 2
  printf '%s$ palisade' "$machine"
  for word in "$@"; do
    if [[ $word == *' '* ]]; then printf " '%s'" "$word"; else printf ' %s' "$word"; fi
  done
  printf '\n'
  palisade "$machine" "$@" > "$here/out" 2>&1 || code=$?
  sed -e "s#$here/$machine#~#g; s#$here#…#g" "$here/out"
  [ "$code" = "$expected" ] || { echo "exit $code, not $expected" >&2; return 1; }
}

show_server() {
  printf 'server$ palisade-server %s\n' "$*"
  palisade_server "$@" 2>&1 | sed -e "s#$here/server#~#g"
}

quietly() { "$@" > "$here/out" 2>&1 || { cat "$here/out" >&2; return 1; }; }

# --- the story ----------------------------------------------------------------------------------

for machine in server one two; do make_machine "$machine"; done
ip -n "$spaces-server" link add switch type bridge
ip -n "$spaces-server" addr add 192.0.2.1/24 dev switch
ip -n "$spaces-server" link set switch up
plug_in one 192.0.2.11
plug_in two 192.0.2.12

heading 'A server, and two machines of people in two teams'
palisade_server init --org acme --owner alice --json > "$here/init"
start server
secret_of() { sed -n 's/.*"personal_token":"\([^"]*\)".*/\1/p' "$1"; }
sign_in() { palisade "$1" login --server http://192.0.2.1:8420 --org acme --username "$2" --token-stdin; }
secret_of "$here/init" | quietly sign_in server alice
for name in ann ben; do
  echo "a long and unusual sentence of $name" |
    quietly palisade server member add "$name" --role member --password-stdin
done
show ok server team create backend
show ok server team create design
show ok server team add backend ann
show ok server team add design ben
show ok server policy create 'packages'
show ok server rule add packages --name registry --action connect:tcp --allow 'npm.example.com:443'
backend=$(palisade server team list --json | sed 's/.*"id":"\([^"]*\)","name":"backend".*/\1/')
show ok server policy create 'backend only' --team "$backend"
show ok server rule add 'backend only' --name database --action connect:tcp --allow 'db.example.com:5432'
show ok server enrol --user ann --name one --out one.json
show ok server enrol --user ben --name two --out two.json
note 'each file and its key are carried to the machine; its agent is started'
for machine in one two; do
  mv "$here/server/$machine.json" "$here/$machine/data/agent/enrolment.json"
  mv "$here/server/$machine.json.key" "$here/$machine/data/agent/enrolment.json.key"
  start "$machine"
done
device_of() { sed -n 's/.*"device_id": *"\([^"]*\)".*/\1/p' "$here/$1/data/agent/enrolment.json"; }
one=$(device_of one) two=$(device_of two)
quietly palisade one sync
quietly palisade two sync
show ok one check connect:tcp db.example.com:5432
show 1 two check connect:tcp db.example.com:5432

heading 'A policy is changed, and both acknowledge it'
# An attacker could have taken it from the wire or a disk before the change.
note 'an attacker keeps a copy of the bundle of machine one: stolen.json'
quietly palisade server bundle export --device "$one" --out stolen.json
mv "$here/server/stolen.json" "$here/one/stolen.json"
show ok server rule add packages --name 'no uploads' --action connect:tcp --deny 'upload.example.com'
revision=$(palisade_server org list --json | sed 's/.*"revision":\([0-9]*\).*/\1/' | tr -dc 0-9)
all_applied() { palisade server revision "$revision" --json | grep -q '"applied":2'; }
wait_for all_applied
note 'both machines fetch it automatically'
show ok server revision "$revision"
show ok server device list

heading 'The server is away: decisions go on'
stop server
note 'the server is stopped'
show 1 one sync
show ok one check connect:tcp npm.example.com:443
show 1 one check connect:tcp upload.example.com:443
show 1 two check connect:tcp db.example.com:5432
start server
note 'the server is started again'

heading 'An old bundle, validly signed, is refused'
show 1 one bundle import stolen.json
show 1 one check connect:tcp upload.example.com:443

heading 'The root key and the targets key are rotated'
show_server keys rotate --org acme --role root
show_server keys rotate --org acme --role targets
show ok server rule add packages --name mirror --action connect:tcp --allow 'mirror.example.com:443'
show ok one sync
show ok two sync
show ok one check connect:tcp mirror.example.com:443

heading 'Machine two is cut off: policies come by hand'
ip -n "$spaces-two" link set eth0 down
note 'the cable of machine two is pulled'
show ok server rule add packages --name fonts --action connect:tcp --allow 'fonts.example.com:443'
show 1 two sync
show 1 two check connect:tcp fonts.example.com:443
show ok server bundle export --device "$two" --out bundle.json
mv "$here/server/bundle.json" "$here/two/bundle.json"
show 1 one bundle import ../two/bundle.json
show ok two bundle import bundle.json
show ok two check connect:tcp fonts.example.com:443

heading 'Eight days later it is still cut off: break-glass'
show ok server break-glass issue "$two" --reason 'cable cut, spare part on its way' --for 2h --use-within 30d --out grant.json
mv "$here/server/grant.json" "$here/two/grant.json"
stop two
days[two]=8
start two
note 'eight days pass on machine two; the grant file is carried there'
show 1 two check connect:tcp fonts.example.com:443
show 1 one break-glass use ../two/grant.json
show ok two break-glass use grant.json
show ok two check connect:tcp fonts.example.com:443
show 1 two check connect:tcp upload.example.com:443
show ok two status
show ok two break-glass end
show 1 two check connect:tcp fonts.example.com:443
show 1 two break-glass use grant.json
show ok server events --kind break_glass.issued
