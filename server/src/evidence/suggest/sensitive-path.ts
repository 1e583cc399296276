import { foldPath } from '../../platform/fold-path.ts'
import { HOMES, indicesBelowRoots, isWithin, OTHER_NAMES } from '../../platform/home-directories.ts'

/** Directories of the system, closed with everything below them. In lower case. */
const SYSTEM: readonly string[] = [
  '/boot',
  '/dev',
  '/etc/gshadow',
  '/etc/krb5.keytab',
  '/etc/kubernetes',
  '/etc/shadow',
  '/etc/ssh',
  '/etc/ssl/private',
  '/etc/sudoers',
  '/etc/sudoers.d',
  '/proc',
  '/run/containerd',
  '/run/docker.sock',
  '/run/secrets',
  '/run/user',
  '/sys',
  '/var/run/containerd',
  '/var/run/docker.sock',
  '/var/run/secrets',
]

/** Files and directories with credentials, wherever they are. In lower case. */
const SECRETS: ReadonlySet<string> = new Set([
  '.1password',
  '.aws',
  '.azure',
  '.bash_history',
  '.boto',
  '.cargo/credentials',
  '.cargo/credentials.toml',
  '.claude',
  '.codex',
  '.config/bravesoftware',
  '.config/chromium',
  '.config/gcloud',
  '.config/gh',
  '.config/git/credentials',
  '.config/google-chrome',
  '.config/google-chrome-beta',
  '.config/microsoft-edge',
  '.config/op',
  '.config/opera',
  '.config/rclone',
  '.config/vivaldi',
  '.databrickscfg',
  '.docker',
  '.env',
  '.gem/credentials',
  '.git-credentials',
  '.gnupg',
  '.kube',
  '.local/share/keyrings',
  '.m2/settings.xml',
  '.mozilla',
  '.my.cnf',
  '.mysql_history',
  '.netrc',
  '.npmrc',
  '.password-store',
  '.pgpass',
  '.psql_history',
  '.pypirc',
  '.s3cfg',
  '.ssh',
  '.terraform.d',
  '.thunderbird',
  '.vault-token',
  '.zsh_history',
  'appdata/local/google',
  'appdata/local/microsoft',
  'appdata/roaming/microsoft',
  'appdata/roaming/mozilla',
  'library/application support/bravesoftware',
  'library/application support/chromium',
  'library/application support/firefox',
  'library/application support/google',
  'library/application support/microsoft edge',
  'library/cookies',
  'library/keychains',
  'library/safari',
])

/** Directories with names of `SECRETS` in them: `.config`, `library/application support`. */
const ABOVE_SECRETS: ReadonlySet<string> = new Set(
  [...SECRETS].flatMap((secret) => {
    const names = secret.split('/')
    return names.slice(1).map((_, index) => names.slice(0, index + 1).join('/'))
  }),
)

/** Least number of segments of a directory that a wildcard may open. */
const LEAST_DEPTH = 3
/** The same below a home: `~/work/project`, but not `~/work`. */
const LEAST_BELOW_HOME = 2

/**
 * Tells why no suggestion opens a canonical path: the root, a home directory or what holds homes, a
 * part of the system, a directory of secrets or a directory above one. Null for any other path.
 */
export function describeSensitivePath(path: string): string | null {
  const segments = segmentsOf(foldPath(path))
  const below = belowOtherRoot(segments)
  return describeFolded(segments) ?? (below === segments ? null : describeFolded(below))
}

function describeFolded(segments: readonly string[]): string | null {
  if (segments.length < 2) return 'the root, or a directory of it'
  if (belowHome(segments) === 0 || isAboveHomes(segments)) return 'a home directory'
  if (OTHER_NAMES.some((each) => isWithin(segments, each))) return 'another name of any file'
  const path = `/${segments.join('/')}`
  if (SYSTEM.some((each) => isAtOrBelow(path, each))) return 'a part of the operating system'
  if (holdsSecret(segments)) return 'a place of credentials'
  return isAboveSecret(segments, path) ? 'a directory above credentials' : null
}

/** Tells whether a wildcard may open everything below a directory. */
export function mayOpenDirectory(segments: readonly string[]): boolean {
  const path = `/${segments.join('/')}`
  const below = belowHome(belowOtherRoot(segmentsOf(foldPath(path))))
  if (segments.length < LEAST_DEPTH || describeSensitivePath(path) !== null) return false
  if (below === null) return true
  // Programs keep their settings and credentials in hidden directories of a home.
  return below >= LEAST_BELOW_HOME && segments.at(-below)?.startsWith('.') === false
}

export function segmentsOf(path: string): readonly string[] {
  return path.split('/').slice(1)
}

/** The same segments where no other name of the root leads. */
function belowOtherRoot(segments: readonly string[]): readonly string[] {
  const from = [...indicesBelowRoots(segments)].at(-1) ?? 0
  return from === 0 ? segments : segments.slice(from)
}

/** Segments below the home that holds the path, 0 for the home itself; null outside of homes. */
function belowHome(segments: readonly string[]): number | null {
  const home = HOMES.find((each) => isWithin(segments, each))
  return home === undefined ? null : segments.length - home.length
}

function isAboveHomes(segments: readonly string[]): boolean {
  return HOMES.some(
    (each) => segments.length < each.length && isWithin(segments, each.slice(0, segments.length)),
  )
}

function isAtOrBelow(path: string, directory: string): boolean {
  return path === directory || path.startsWith(`${directory}/`)
}

function holdsSecret(segments: readonly string[]): boolean {
  return segments.some((each, index) => {
    if (SECRETS.has(each) || isSecretFile(each)) return true
    // A path may have thousands of segments, and all records of a machine such paths.
    if (!/^(?:\.|appdata$|library$)/.test(each)) return false
    const pair = `${each}/${segments[index + 1] ?? ''}`
    return SECRETS.has(pair) || SECRETS.has(`${pair}/${segments[index + 2] ?? ''}`)
  })
}

/** `library` and `appdata` are usual names, and of secrets directly in a home only. */
function isAboveSecret(segments: readonly string[], path: string): boolean {
  if (SYSTEM.some((each) => isAtOrBelow(each, path))) return true
  const last = segments.at(-1) ?? ''
  if (ABOVE_SECRETS.has(`${segments.at(-2) ?? ''}/${last}`)) return true
  return ABOVE_SECRETS.has(last) && (last.startsWith('.') || belowHome(segments) === 1)
}

/** Such files have customary names: `id_ed25519`, `server.pem`, `.env.local`. */
function isSecretFile(name: string): boolean {
  return (
    /^id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?$|^\.env\./.test(name) ||
    /\.(?:pem|key|ppk|p12|pfx|kdbx|keystore|keytab|jks)$/.test(name)
  )
}
