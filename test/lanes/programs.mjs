// The programs that the full lane starts. JavaScript, so that the Node of a fresh machine can ask
// for the packages to install: `node test/lanes/programs.mjs` prints those of missing programs.
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * Each program with its package of Debian.
 *
 * @type {Readonly<Record<string, string>>}
 */
export const PACKAGES = {
  bwrap: 'bubblewrap',
  cc: 'build-essential',
  'chromium-headless-shell': 'chromium-headless-shell',
  curl: 'curl',
  git: 'git',
  ip: 'iproute2',
  make: 'build-essential',
  mkfifo: 'coreutils',
  mount: 'mount',
  nft: 'nftables',
  nsenter: 'util-linux',
  openssl: 'openssl',
  perl: 'perl',
  pip: 'python3-pip',
  python3: 'python3',
  script: 'bsdutils',
  setpriv: 'util-linux',
  ssh: 'openssh-client',
  tmux: 'tmux',
  wget: 'wget',
}

/**
 * @param {string} program
 * @param {string} [path] the value of PATH
 */
export function isInstalled(program, path = process.env['PATH'] ?? '') {
  // An ordinary user's PATH often lacks the folders of administration.
  const folders = [...path.split(delimiter), '/usr/sbin', '/sbin']
  return folders.some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

/** @returns {string[]} in order of their names */
export function missingPrograms() {
  return Object.keys(PACKAGES).filter((program) => !isInstalled(program))
}

/** @param {readonly string[]} programs */
export function packagesOf(programs) {
  return [...new Set(programs.map((program) => PACKAGES[program] ?? program))]
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  process.stdout.write(`${packagesOf(missingPrograms()).join(' ')}\n`)
