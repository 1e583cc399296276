import { readFileSync } from 'node:fs'
import type { ClientConfig } from 'pg'

/** Where a database is and how to reach it. */
export interface DatabaseAddress {
  /** The URL without its password, for messages. */
  readonly label: string
  readonly client: Pick<
    ClientConfig,
    'host' | 'port' | 'user' | 'password' | 'database' | 'ssl' | 'options' | 'application_name'
  >
}

const PARAMETERS = [
  'host',
  'sslmode',
  'sslrootcert',
  'sslcert',
  'sslkey',
  'options',
  'application_name',
]
const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full']

/**
 * Reads `postgres://user:password@host:port/database?…`, or with `?host=/directory` the Unix socket
 * there. Throws RangeError with the correction; its message never holds the password.
 */
export function parseDatabaseUrl(text: string): DatabaseAddress {
  const url = URL.parse(text)
  if (url === null || !['postgres:', 'postgresql:'].includes(url.protocol))
    throw new RangeError('must be a URL such as `postgres://user:password@host:5432/database`')
  const parameters = url.searchParams
  for (const name of parameters.keys())
    if (!PARAMETERS.includes(name))
      // Not named: it may be a password with a question mark in it.
      throw new RangeError(`may have the parameters ${PARAMETERS.join(', ')} and no others`)
  const host = parameters.get('host') ?? decode(url.hostname).replace(/^\[(.*)\]$/, '$1')
  const database = decode(url.pathname.slice(1))
  if (host === '' || database === '')
    throw new RangeError('must name a host and a database: `postgres://host/database`')
  return {
    label: `postgres://${url.host === '' ? host : url.host}/${database}`,
    client: {
      host,
      port: url.port === '' ? 5432 : Number(url.port),
      database,
      ...given('user', decode(url.username)),
      ...given('password', decode(url.password)),
      ...given('options', parameters.get('options') ?? ''),
      application_name: parameters.get('application_name') ?? 'palisade-server',
      ssl: tlsOf(host, parameters),
    },
  }
}

/** A member that is left out when empty, so that `pg` takes its own default. */
function given(name: 'user' | 'password' | 'options', value: string): Record<string, string> {
  return value === '' ? {} : { [name]: value }
}

/**
 * Reads TLS options as libpq does, but encryption always includes verification: `require` means
 * `verify-full`, which is also the default for a host beyond this machine.
 */
function tlsOf(host: string, parameters: URLSearchParams): ClientConfig['ssl'] {
  const mode = parameters.get('sslmode') ?? (isThisMachine(host) ? 'disable' : 'verify-full')
  if (!SSL_MODES.includes(mode))
    throw new RangeError(`has an unknown \`sslmode\`; write one of ${SSL_MODES.join(', ')}`)
  if (mode === 'disable') return false
  if (host.startsWith('/')) throw new RangeError('asks for TLS on a Unix socket, which has none')
  const ca = parameters.get('sslrootcert')
  // A name that a public authority has certified for somebody else would do.
  if (mode === 'verify-ca' && ca === null)
    throw new RangeError('needs `sslrootcert` for `sslmode=verify-ca`')
  return {
    rejectUnauthorized: true,
    ...(ca === null || ca === 'system' ? {} : { ca: readPem('sslrootcert', ca) }),
    ...pemOf('cert', parameters.get('sslcert')),
    ...pemOf('key', parameters.get('sslkey')),
    ...(mode === 'verify-ca' ? { checkServerIdentity: () => undefined } : {}),
  }
}

function isThisMachine(host: string): boolean {
  return host.startsWith('/') || ['localhost', '127.0.0.1', '::1'].includes(host)
}

function pemOf(member: 'cert' | 'key', path: string | null): Record<string, string> {
  return path === null ? {} : { [member]: readPem(`ssl${member}`, path) }
}

function readPem(parameter: string, path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new RangeError(`names a file in \`${parameter}\` that cannot be read: \`${path}\``, {
      cause: error,
    })
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (error) {
    throw new RangeError('has a `%` that is not followed by two hexadecimal digits', {
      cause: error,
    })
  }
}
