# shellcheck shell=bash
# Makes an empty Debian or Ubuntu in a folder and runs commands in it. Other scripts source this file.
#
# empty_system ROOT SUITE [--keep]: makes the system in ROOT with debootstrap; --keep unpacks that of an earlier call.
# inside COMMAND...: runs a command in it, as root and with the environment of a new user.
# apt_inside ARGUMENTS...: runs apt-get in it.
#
# The functions need root and debootstrap. Where no system can be made they exit with 77. TANDEM_MIRROR is where the
# packages come from.
no_system() {
  echo "$(basename "$0"): no empty system: $*" >&2
  exit 77
}

empty_system() {
  local suite=$2 archive=build/systems/$2.tar mirror components
  root=$1
  ((EUID == 0)) || no_system "needs root, for debootstrap and chroot"
  command -v debootstrap >/dev/null || no_system "install debootstrap"
  case $(. /etc/os-release && echo "$ID") in
    ubuntu) mirror=${TANDEM_MIRROR-http://archive.ubuntu.com/ubuntu} components=main,universe ;;
    *) mirror=${TANDEM_MIRROR-http://deb.debian.org/debian} components=main ;;
  esac
  mkdir -p build/systems
  rm -rf "$root"
  if [[ ${3-} != --keep || ! -e $archive ]]; then
    debootstrap --variant=minbase --components="$components" "$suite" "$root" "$mirror" >"build/systems/$suite.log" ||
      no_system "debootstrap failed; see build/systems/$suite.log"
    tar -cf "$archive" -C "$root" .
  else
    mkdir -p "$root"
    tar -xf "$archive" -C "$root"
  fi
  cp /etc/resolv.conf "$root/etc/"
  echo 'Acquire::Check-Valid-Until "false";' >"$root/etc/apt/apt.conf.d/mirror" # mirrors of testing may be old
  # Networks that look into connections have certificates of their own.
  trusted=()
  if [[ -n ${SSL_CERT_FILE-} ]]; then
    cp "$SSL_CERT_FILE" "$root/etc/certificates.pem"
    trusted=(SSL_CERT_FILE=/etc/certificates.pem PIP_CERT=/etc/certificates.pem)
  fi
  inside true || no_system "this process may not mount or chroot"
  apt_inside update || no_system "apt-get cannot reach $mirror from it"
}

# A program finds libraries beside itself only if /proc is mounted, here in a namespace that ends with the command.
inside() {
  unshare --mount sh -ec 'mount -t proc proc "$1/proc"; exec chroot "$@"' sh "$root" \
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C "${trusted[@]}" "$@"
}

apt_inside() { inside apt-get -qq -y --no-install-recommends -o Dpkg::Use-Pty=0 "$@" >/dev/null; }
