/** Directories of homes, with the number of segments of one home below them. */
const HOMES: readonly (readonly [directory: string, segments: number])[] = [
  ['/home', 1],
  ['/Users', 1],
  ['/root', 0],
  ['/var/home', 1],
  ['/var/root', 0],
  ['/export/home', 1],
]

/** Directories of the system, closed with everything below them. */
const SYSTEM: readonly string[] = [
  '/boot',
  '/dev',
  '/etc/gshadow',
  '/etc/shadow',
  '/etc/ssh',
  '/etc/ssl/private',
  '/etc/sudoers',
  '/etc/sudoers.d',
  '/proc',
  '/run/secrets',
  '/sys',
  '/var/run/secrets',
]

/** Files and directories with credentials, wherever they are. In lower case. */
const SECRETS: ReadonlySet<string> = new Set([
  '.1password',
  '.aws',
  '.azure',
  '.bash_history',
  '.cargo/credentials',
  '.cargo/credentials.toml',
  '.config/gcloud',
  '.config/gh',
  '.docker',
  '.env',
  '.git-credentials',
  '.gnupg',
  '.kube',
  '.local/share/keyrings',
  '.mozilla',
  '.netrc',
  '.npmrc',
  '.password-store',
  '.pgpass',
  '.pypirc',
  '.ssh',
  '.terraform.d',
  '.vault-token',
  '.zsh_history',
])

/** Least number of segments of a directory that a wildcard may open. */
const LEAST_DEPTH = 3
/** The same below a home: `~/work/project`, but not `~/work`. */
const LEAST_BELOW_HOME = 2

/**
 * Tells why no suggestion opens a canonical path: the root, a home directory or what holds homes, a
 * part of the system, or a place of secrets. Null for any other path.
 */
export function describeSensitivePath(path: string): string | null {
  const segments = segmentsOf(path)
  if (segments.length < 2) return 'the root, or a directory of it'
  if (belowHome(segments) === 0 || isAboveHomes(path)) return 'a home directory'
  if (SYSTEM.some((each) => isAtOrBelow(path, each))) return 'a part of the operating system'
  return holdsSecret(segments) ? 'a place of credentials' : null
}

/** Tells whether a wildcard may open everything below a directory. */
export function mayOpenDirectory(segments: readonly string[]): boolean {
  const below = belowHome(segments)
  const path = `/${segments.join('/')}`
  if (segments.length < LEAST_DEPTH || describeSensitivePath(path) !== null) return false
  if (below === null) return true
  // Programs keep their settings and credentials in hidden directories of a home.
  return below >= LEAST_BELOW_HOME && segments.at(-below)?.startsWith('.') === false
}

export function segmentsOf(path: string): readonly string[] {
  return path.split('/').slice(1)
}

/** Segments below the home that holds the path, 0 for the home itself; null outside of homes. */
function belowHome(segments: readonly string[]): number | null {
  for (const [directory, ofHome] of HOMES) {
    const length = segmentsOf(directory).length + ofHome
    if (segments.length >= length && isAtOrBelow(`/${segments.join('/')}`, directory))
      return segments.length - length
  }
  return null
}

function isAboveHomes(path: string): boolean {
  return HOMES.some(([directory]) => isAtOrBelow(directory, path))
}

function isAtOrBelow(path: string, directory: string): boolean {
  return path === directory || path.startsWith(`${directory}/`)
}

function holdsSecret(segments: readonly string[]): boolean {
  const lower = segments.map((each) => each.toLowerCase())
  return lower.some((each, index) => {
    const pair = `${each}/${lower[index + 1] ?? ''}`
    const triple = `${pair}/${lower[index + 2] ?? ''}`
    return SECRETS.has(each) || SECRETS.has(pair) || SECRETS.has(triple) || isKeyFile(each)
  })
}

/** Private keys have customary names: `id_ed25519`, `server.pem`. */
function isKeyFile(name: string): boolean {
  return /^id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?$|\.(?:pem|key|p12|pfx|kdbx|keystore|jks)$/.test(
    name,
  )
}
