#!/bin/sh
# Makes the secrets of compose.yaml in `secrets` beside this file, or in the folder that is given. A file that is there stays.
#
# The folder is closed to everybody else; the files in it can be read, as each container reads its own under another account.
set -eu
folder=${1:-$(dirname "$0")/secrets}
mkdir -p "$folder"
chmod 700 "$folder"

put() { # NAME TEXT
  [ -e "$folder/$1" ] && return
  printf '%s' "$2" > "$folder/$1"
  chmod 444 "$folder/$1"
  echo "made $folder/$1"
}
random() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }

put db_password "$(random)"
put grafana_password "$(random)"
put CAFI_STORAGE__URL "postgresql+psycopg://cafi:$(cat "$folder/db_password")@db/cafi"
put CAFI_SESSIONS__SECRET "$(random)"
put CAFI_WEB__OPERATOR_TOKEN "$(random)"
# Empty is not set. To fill one in: chmod u+w FILE, write, start CAFI anew.
put CAFI_MODELS__API_KEY ""
put CAFI_TELEGRAM__TOKEN ""
put CAFI_DISCORD__TOKEN ""
