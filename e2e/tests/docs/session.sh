# The shell of one page. It runs in namespaces of its own (mounts, network, processes), as root there.
#   $1  the folder of this page: certificates, `hosts`, steps/
# The numbers of steps come in on standard input; `NUMBER STATUS` goes out. Everything else is written to session.log.
# RF_ROOT, RF_PROGRAMS, RF_CARGO, RF_RUSTUP and, where they are needed, RF_PACKAGES and RF_GUESTS say where things are.
set -euo pipefail
exec 3<&0 4>&1 </dev/null >"$1/session.log" 2>&1

# A home in which everything is where a newcomer has it. Sources are bound before anything is laid over them.
stage=$1/stage
mkdir -p "$stage"
mount -t tmpfs stage "$stage"
mkdir -p "$stage/home/ada"/{.cargo,.rustup,.local/bin,ringfence} "$stage/home/.world" "$stage/home/.packages" "$stage/home/.guests" "$stage"/{etc,work}
laid() { mount --bind "$1" "$stage/home/$2"; }
laid "$1" .world
laid "$RF_ROOT" ada/ringfence
mount -o remount,bind,ro "$stage/home/ada/ringfence"
laid "$RF_CARGO" ada/.cargo
laid "$RF_RUSTUP" ada/.rustup
[ -z "${RF_PACKAGES:-}" ] || laid "$RF_PACKAGES" .packages
[ -z "${RF_GUESTS:-}" ] || laid "$RF_GUESTS" .guests
for program in ringfence ringfence-components ringfence-lint; do
  cp "$RF_PROGRAMS/$program" "$stage/home/ada/.local/bin/"
done
mount -t overlay -o "lowerdir=/etc,upperdir=$stage/etc,workdir=$stage/work" etc /etc
mount --rbind "$stage/home" /home
world=/home/.world
for place in /mnt /run /srv /tmp; do mount -t tmpfs -o mode=1777 fresh "$place"; done

# The only way out leads to the far end, where every address is at home.
ip link set lo up
unshare --net sleep infinity &
far=/proc/$!/ns/net
until [ "$(readlink "$far")" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
ip link add near type veth peer name far netns $!
ip address add 198.51.100.1/30 dev near
ip link set near up
ip route add default via 198.51.100.2
nsenter --net="$far" bash -ec '
  ip link set lo up
  ip address add 198.51.100.2/30 dev far
  ip link set far up
  ip route add local 0.0.0.0/0 dev lo'
nsenter --net="$far" /usr/bin/python3 /home/ada/ringfence/e2e/tests/docs/far.py $world ${RF_PACKAGES:+/home/.packages} &
{
  printf '127.0.0.1 %s\n' localhost db.example fence.example.org
  cat $world/hosts
} >/etc/hosts
echo 'nameserver 127.0.0.1' >/etc/resolv.conf
echo build-7 >/etc/hostname
cat $world/authority.pem >>/etc/ssl/certs/ca-certificates.crt
until [ -e $world/far.ready ]; do sleep 0.01; done

# has_begun PID LOG TEXT: waits until what goes on in the background has printed that.
has_begun() {
  for _ in $(seq 600); do
    if grep -qF -- "$3" "$2"; then return 0; fi
    kill -0 "$1" 2>/dev/null || return 1
    sleep 0.05
  done
  return 1
}

RUSTUP_TOOLCHAIN=$(sed -n 's/^channel = "\(.*\)"/\1/p' /home/ada/ringfence/rust-toolchain.toml)
export RUSTUP_TOOLCHAIN
# Where crates were when script/wasm-guests compiled them.
crates=$RF_CARGO
unset RF_ROOT RF_PROGRAMS RF_CARGO RF_RUSTUP RF_PACKAGES RF_GUESTS
export HOME=/home/ada USER=sam LOGNAME=sam LANG=C.UTF-8 CARGO_NET_OFFLINE=true
export PATH=/home/ada/.local/bin:/home/ada/.cargo/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
cd
source /home/ada/ringfence/e2e/tests/docs/fixture.sh
set +euo pipefail
umask 022
while IFS= read -r step <&3; do
  source "$world/steps/$step.sh" >"$world/steps/$step.out" 2>&1 3<&- 4>&-
  echo "$step $?" >&4
done
