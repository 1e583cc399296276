import type { ViewDisk } from './disk.ts'

/**
 * The entries of `/etc` that programs of `/usr` need, which every user of the machine may read. In
 * particular, some packages keep a part of their program there, to which `/usr` has a link.
 *
 * Absent are users, hosts and services of the machine, settings that usually hold credentials, such
 * as those of apt, npm, pip, git and databases, and those that identify the machine.
 */
const SETTINGS: readonly string[] = [
  // Loading and alternatives of programs.
  'ld.so.cache ld.so.conf ld.so.conf.d alternatives',
  // Certificates.
  'ssl/certs ssl/openssl.cnf ca-certificates ca-certificates.conf pki/tls/certs',
  'pki/ca-trust/extracted crypto-policies gnutls',
  // The system, its names and numbers.
  'os-release lsb-release debian_version redhat-release system-release dpkg rpm localtime timezone',
  'protocols services ethertypes rpc netconfig host.conf gai.conf mime.types mailcap magic',
  'magic.mime locale.alias locale.conf locale.gen papersize paperspecs libpaper.d xattr.conf',
  // Shells, editors and terminals.
  'profile profile.d bash.bashrc bashrc bash_completion bash_completion.d csh.cshrc zsh zshrc',
  'zshenv zprofile fish shells inputrc terminfo DIR_COLORS screenrc tmux.conf lesskey grc.conf',
  'vim vimrc virc nanorc emacs joe mc',
  // Languages and build tools.
  'perl python R julia ipython jupyter matplotlibrc php php.ini php.d irbrc dotnet mono java',
  'javarc jvm jvm-common maven ant ant.conf ant.d gradle groovy scala stack common-lisp clang',
  'ocamlfind.conf octave.conf octaverc gdb ccache.conf debuginfod devscripts.conf',
  // Documents, fonts and graphics.
  'fonts texmf groff man_db.conf manpath.config sgml xml asciidoc ghostscript ImageMagick',
  'ImageMagick-6 ImageMagick-7 enscript.cfg dictionaries-common OpenCL vulkan glvnd gtk-2.0',
  'gtk-3.0 odbcinst.ini postgresql-common',
].flatMap((line) => line.split(' '))
/** Settings trees of one language runtime and version, such as `java-17-openjdk`. */
const OF_RUNTIMES = /^(?:java-[\w.-]+|python[23](?:\.\d+)?)$/

/** Paths below `/etc` of the settings that this machine may have. */
export function systemSettings(disk: Pick<ViewDisk, 'list'>): readonly string[] {
  const found = disk.list('/etc').entries.map(({ name }) => name)
  const present = new Set(found)
  return [
    ...SETTINGS.filter((path) => present.has(path.split('/', 1)[0] ?? '')),
    ...found.filter((name) => OF_RUNTIMES.test(name)),
  ]
}
