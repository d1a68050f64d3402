#!/bin/bash
# The servers of several machines, on one, without containers: PostgreSQL, an S3-compatible store, Prefect and
# MLflow on both.
#   stack.sh up         start what does not run, and say where; idempotent
#   stack.sh down       stop all; data stays
#   stack.sh passwords  write passwords and the settings of clients only, for the same servers in containers
#   stack.sh status     say what runs; exit status 1 if anything does not
# STACK          folder of data, logs and passwords (.stack)
# STACK_ADDRESS  address to listen at, by which other machines reach this one (127.0.0.1)
# STACK_NAME     a name of that address that clients use beside its host name; Prefect and MLflow refuse others
# STACK_PORTS    ports of PostgreSQL, the store, Prefect and MLflow ("5433 8333 4200 5000")
# Each server requires a password of STACK/passwords. All speak without encryption, and the inner gRPC ports of
# the store (18888, 19333, 19340, 33646) have no password: listen in a private network only.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
bin=${BIN:-$root/.venv/bin}
stack=$(realpath -m "${STACK:-$root/.stack}")
address=${STACK_ADDRESS:-127.0.0.1}
read -r sql_port store_port prefect_port mlflow_port <<< "${STACK_PORTS:-5433 8333 4200 5000}"
services="postgres store prefect mlflow"

fail() { echo "stack.sh: $1" >&2; exit 4; }

# --- programs and passwords ---------------------------------------------------------------------------

postgres_programs() {
  for folder in $(ls -d /usr/lib/postgresql/*/bin 2> /dev/null | sort -rV); do
    [ -x "$folder/initdb" ] && echo "$folder" && return 0
  done
  return 1
}

install() {
  if ! postgres_programs > /dev/null; then
    if ! command -v apt-get > /dev/null || [ "$(id -u)" != 0 ]; then
      fail "PostgreSQL is missing, and only root can install it with apt-get (postgresql)"
    fi
    echo "installing postgresql"
    { apt-get update -qq
      DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql
    } > /dev/null 2>&1 || fail "apt-get could not install postgresql"
  fi
  if ! cmp -s "$root/requirements/stack.txt" "$stack/packages/stack.txt"; then
    echo "installing the store and the drivers of PostgreSQL and S3 (70 MB)"
    rm -rf "$stack/packages"
    "$bin/uv" pip install --quiet --python "$bin/python" --target "$stack/packages" \
      -r "$root/requirements/stack.txt" || fail "the packages of requirements/stack.txt could not be installed"
    cp "$root/requirements/stack.txt" "$stack/packages/stack.txt"
  fi
}

passwords() {
  ( umask 077
    touch "$stack/passwords"
    cp "$stack/passwords" "$stack/passwords.new"
    for name in SQL_PASSWORD STORE_KEY STORE_SECRET STORE_SIGNING PREFECT_STRING MLFLOW_PASSWORD; do
      if ! grep -q "^$name=" "$stack/passwords.new"; then
        echo "$name=$(head -c 20 /dev/urandom | od -An -tx1 | tr -d ' \n')" >> "$stack/passwords.new"
      fi
    done )
  mv "$stack/passwords.new" "$stack/passwords"
  . "$stack/passwords"
}

# What clients of Prefect and MLflow set, in a file that only this user can read.
clients() {
  ( umask 077
    cat > "$stack/clients" << END
export PREFECT_API_URL=http://$address:$prefect_port/api
export PREFECT_API_AUTH_STRING=$PREFECT_STRING
export MLFLOW_TRACKING_URI=http://$address:$mlflow_port
export MLFLOW_TRACKING_USERNAME=comind
export MLFLOW_TRACKING_PASSWORD=$MLFLOW_PASSWORD
END
  )
}

# --- processes ----------------------------------------------------------------------------------------

# The process of a service, if it is the one that was started here.
process_of() {
  local pid
  pid=$(cat "$stack/$1.pid" 2> /dev/null) || return 1
  grep -qzxF "COMIND_STACK=$stack/$1" "/proc/$pid/environ" 2> /dev/null && echo "$pid"
}

# Start a service in the background: NAME, then assignments and the command. Of our own variables it gets only
# these, so no key; assignments stay out of command lines, which every user can read.
passed=" PATH HOME LANG LC_ALL TZ TMPDIR LD_LIBRARY_PATH http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY \
NO_PROXY SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE "
start() {
  local name=$1; shift
  (
    for variable in $(compgen -e); do
      [[ $passed == *" $variable "* ]] || unset "$variable"
    done
    export "COMIND_STACK=$stack/$name"
    while [[ $1 =~ ^[A-Z][A-Z0-9_]*= ]]; do export "$1"; shift; done
    exec setsid nohup "$@" >> "$stack/$name.log" 2>&1 < /dev/null
  ) &
  echo $! > "$stack/$name.pid"
}

await() {  # NAME, then a command that succeeds once it answers
  local name=$1; shift
  for _ in $(seq 300); do
    "$@" > /dev/null 2>&1 && return 0
    kill -0 "$(cat "$stack/$name.pid")" 2> /dev/null || break
    sleep 0.2
  done
  tail -3 "$stack/$name.log" >&2
  fail "$name did not start: see $stack/$name.log"
}

taken() { (exec 3<> "/dev/tcp/$address/$1") 2> /dev/null; }

answers() { "$bin/python" -c 'import sys, urllib.request as u; u.urlopen(sys.argv[1], timeout=2)' "$1"; }

as_postgres() {  # PostgreSQL refuses to run as root
  if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi
}

# --- services -----------------------------------------------------------------------------------------

start_postgres() {
  local programs data=$stack/postgres
  programs=$(postgres_programs)
  if [ ! -s "$data/PG_VERSION" ]; then
    rm -rf "$data"; mkdir -p -m 700 "$data"
    if [ "$(id -u)" = 0 ]; then chown postgres "$data"; chmod 711 "$stack"; fi
    ( umask 077; echo "$SQL_PASSWORD" > "$stack/initial" )  # initdb reads a file only
    if [ "$(id -u)" = 0 ]; then chown postgres "$stack/initial"; fi
    as_postgres test -w "$data" || fail "the user postgres cannot reach $data: set STACK to another folder"
    as_postgres "$programs/initdb" -D "$data" -U comind --auth=scram-sha-256 --pwfile="$stack/initial" \
      -E UTF8 --locale=C.UTF-8 > "$stack/postgres.log" 2>&1 \
      || fail "the database could not be created: see $stack/postgres.log"
    rm -f "$stack/initial"
  fi
  local command=("$programs/postgres" -D "$data" -p "$sql_port" -c "listen_addresses=$address"
    -c unix_socket_directories=)
  if [ "$(id -u)" = 0 ]; then
    start postgres setpriv --reuid=postgres --regid=postgres --init-groups "${command[@]}"
  else
    start postgres "${command[@]}"
  fi
  export PGPASSWORD=$SQL_PASSWORD
  local sql=("$programs/psql" -h "$address" -p "$sql_port" -U comind -d postgres -Atc)
  await postgres "${sql[@]}" "SELECT 1"
  for name in prefect mlflow; do
    [ "$("${sql[@]}" "SELECT 1 FROM pg_database WHERE datname = '$name'")" ] || "${sql[@]}" "CREATE DATABASE $name"
  done > /dev/null
}

start_store() {
  mkdir -p "$stack/store"
  local origin="http://$address:$store_port"
  start store AWS_ACCESS_KEY_ID="$STORE_KEY" AWS_SECRET_ACCESS_KEY="$STORE_SECRET" \
    WEED_JWT_SIGNING_KEY="$STORE_SIGNING" WEED_JWT_SIGNING_READ_KEY="$STORE_SIGNING" \
    WEED_JWT_FILER_SIGNING_KEY="$STORE_SIGNING" WEED_JWT_FILER_SIGNING_READ_KEY="$STORE_SIGNING" \
    "$stack/packages/bin/weed" -logtostderr=true mini -dir "$stack/store" -ip "$address" -ip.bind "$address" \
    -disableHttp -filer.allowedOrigins "$origin" -s3.allowedOrigins "$origin" -s3.port "$store_port" -bucket comind,mlflow -admin.ui=false \
    -s3.port.iceberg 0 -s3.port.lance 0 -webdav=false -master.telemetry=false
  await store taken "$store_port"
}

start_prefect() {
  start prefect PREFECT_HOME="$stack/prefect" PREFECT_SERVER_ANALYTICS_ENABLED=false \
    PREFECT_SERVER_API_AUTH_STRING="$PREFECT_STRING" \
    PREFECT_API_DATABASE_CONNECTION_URL="postgresql+asyncpg://comind:$SQL_PASSWORD@$address:$sql_port/prefect" \
    "$bin/python" -m comind.servers.prefect_app "$address" "$prefect_port" "$(hostname)" ${STACK_NAME:+"$STACK_NAME"}
  await prefect answers "http://$address:$prefect_port/api/health"
}

start_mlflow() {
  start mlflow PYTHONPATH="$stack/packages" MLFLOW_DISABLE_TELEMETRY=true \
    MLFLOW_TRACKING_PASSWORD="$MLFLOW_PASSWORD" MLFLOW_ARTIFACTS_DESTINATION=s3://mlflow \
    MLFLOW_BACKEND_STORE_URI="postgresql://comind:$SQL_PASSWORD@$address:$sql_port/mlflow" \
    MLFLOW_S3_ENDPOINT_URL="http://$address:$store_port" \
    AWS_ACCESS_KEY_ID="$STORE_KEY" AWS_SECRET_ACCESS_KEY="$STORE_SECRET" AWS_DEFAULT_REGION=us-east-1 \
    "$bin/python" -m comind.adapters.mlflow.tracking_server "$address" "$mlflow_port" "$(hostname)" ${STACK_NAME:+"$STACK_NAME"}
  await mlflow answers "http://$address:$mlflow_port/health"
}

# --- commands -----------------------------------------------------------------------------------------

up() {
  mkdir -p "$stack"
  local missing=()
  set -- "$sql_port" "$store_port" "$prefect_port" "$mlflow_port"
  for name in $services; do
    if ! process_of "$name" > /dev/null; then
      if taken "$1"; then fail "port $1 for $name is in use: name others in STACK_PORTS"; fi
      missing+=("$name")
    fi
    shift
  done
  install
  passwords
  for name in "${missing[@]}"; do
    echo "starting $name"
    "start_$name"
  done
  clients
  cat << END
Prefect http://$address:$prefect_port and MLflow http://$address:$mlflow_port; their clients need: . $stack/clients
The store is s3://comind at http://$address:$store_port; its key is in $stack/passwords.
END
}

down() {
  for name in mlflow prefect store postgres; do
    if pid=$(process_of "$name"); then
      kill -INT "$pid"  # PostgreSQL: disconnect clients, and stop
      for _ in $(seq 100); do process_of "$name" > /dev/null || break; sleep 0.1; done
      process_of "$name" > /dev/null && kill -KILL -- "-$pid"
      echo "stopped $name"
    fi
    rm -f "$stack/$name.pid"
  done
}

status() {
  local missing=0
  for name in $services; do
    if pid=$(process_of "$name"); then echo "$name runs ($pid)"; else echo "$name does not run"; missing=1; fi
  done
  return $missing
}

case "${1-}" in
  up | down | status) "$1" ;;
  passwords) mkdir -p "$stack"; passwords; clients ;;
  *) sed -n '2,14s/^# \?//p' "$0" >&2; exit 2 ;;
esac
