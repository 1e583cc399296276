import { proxyVariables } from '@palisade/client'
import { SANDBOX_ADDRESS, SANDBOX_HOSTNAME, SANDBOX_PROGRAMS } from '@palisade/protocol'

type Env = Readonly<Record<string, string | undefined>>

export interface EnvironmentRequest {
  /** The environment in which the person called `palisade run`. */
  readonly env: Env
  /** Each `--env` of the person: `NAME` for the value in `env`, or `NAME=VALUE`. */
  readonly asked: readonly string[]
  /** Path of the private home inside. */
  readonly home: string
  /** `http://127.0.0.1:PORT` inside. */
  readonly proxy: string
  /** Name and address of the person for git. */
  readonly identity: ReadonlyMap<string, string>
  /** Variables that tell programs of this sandbox. The person cannot replace them. */
  readonly own: ReadonlyMap<string, string>
}

export type EnvironmentOutcome =
  | { readonly kind: 'built'; readonly variables: ReadonlyMap<string, string> }
  /** One line for each fault of `asked`. */
  | { readonly kind: 'invalid'; readonly problems: readonly string[] }

/**
 * Variables that pass unasked: how to talk to the terminal and the person. Each other one may carry
 * a secret, name a socket outside (`SSH_AUTH_SOCK`), or be code (`NODE_OPTIONS`, `LD_PRELOAD`).
 */
const PASSED: ReadonlySet<string> = new Set([
  'PATH',
  'TERM',
  'COLORTERM',
  'TZ',
  'LANG',
  'LANGUAGE',
  // Not every LC_…, because ssh passes any value under such a name.
  'LC_ALL',
  'LC_ADDRESS',
  'LC_COLLATE',
  'LC_CTYPE',
  'LC_IDENTIFICATION',
  'LC_MEASUREMENT',
  'LC_MESSAGES',
  'LC_MONETARY',
  'LC_NAME',
  'LC_NUMERIC',
  'LC_PAPER',
  'LC_TELEPHONE',
  'LC_TIME',
  'USER',
  'LOGNAME',
  'SHELL',
  'EDITOR',
  'VISUAL',
  'PAGER',
  'NO_COLOR',
  'FORCE_COLOR',
  'CI',
  // The authorities of the system, beside those of a program; see `authorities.ts`.
  'DENO_TLS_CA_STORE',
  'NODE_USE_SYSTEM_CA',
  'UV_NATIVE_TLS',
  'UV_SYSTEM_CERTS',
])
/**
 * Spellings of the sandbox's own loopback, which its proxy cannot reach. Programs compare them with
 * the text of a URL. A wide list opens nothing: a connection that leaves is captured.
 */
const BYPASSED: readonly string[] = [
  'localhost',
  '.localhost',
  'ip6-localhost',
  SANDBOX_HOSTNAME,
  '127.0.0.0/8',
  '127.0.0.1',
  '127.1',
  '0.0.0.0',
  '0',
  // Some programs compare IPv6 addresses with their brackets.
  '::1',
  '[::1]',
  '::',
  '[::]',
  SANDBOX_ADDRESS,
]
const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin'
const NAME = /^[A-Za-z_]\w*$/

/**
 * Builds the whole environment of a command. A variable of the person wins over one of the proxy:
 * the sandbox captures connections without these variables too.
 */
export function buildEnvironment(request: EnvironmentRequest): EnvironmentOutcome {
  const proxy = proxyVariables(request.proxy, BYPASSED)
  const outcomes = request.asked.map((text) => readAsked(text, request, proxy))
  const problems = outcomes.filter((outcome) => typeof outcome === 'string')
  if (problems.length > 0) return { kind: 'invalid', problems }
  const asked = outcomes.filter((outcome) => typeof outcome !== 'string')
  const variables = new Map([
    ...passedVariables(request.env),
    // Last, so that it hides no other program.
    ['PATH', `${pathOf(request.env)}:${SANDBOX_PROGRAMS}`],
    ['HOME', request.home],
    ...proxy,
    ...request.identity,
    ...asked,
    ...request.own,
  ])
  return { kind: 'built', variables }
}

function pathOf({ PATH: path = '' }: Env): string {
  return path === '' || path.includes('\0') ? DEFAULT_PATH : path
}

function passedVariables(env: Env): readonly (readonly [string, string])[] {
  return Object.entries(env).flatMap(([name, value]) =>
    PASSED.has(name) && value !== undefined && !value.includes('\0') ? [[name, value]] : [],
  )
}

/** Returns the variable, or the fault as one line. */
function readAsked(
  text: string,
  { env, own }: EnvironmentRequest,
  proxy: ReadonlyMap<string, string>,
): readonly [string, string] | string {
  const at = text.indexOf('=')
  const name = at < 0 ? text : text.slice(0, at)
  if (!NAME.test(name))
    return `\`--env ${name}\` is not a name; write \`--env NAME\` or \`--env NAME=VALUE\``
  if (own.has(name)) return `\`--env ${name}\` is a variable of the sandbox itself; leave it out`
  if (at < 0 && proxy.has(name))
    return `\`--env ${name}\` leads to a proxy outside; leave it out, or write \`${name}=VALUE\``
  const value = at < 0 ? ownValue(env, name) : text.slice(at + 1)
  if (value === undefined) return `\`--env ${name}\` is not set; write \`--env ${name}=VALUE\``
  if (value.includes('\0')) return `\`--env ${name}\` has a NUL character in its value`
  return [name, value]
}

/** Not a member that every object has, such as `constructor`. */
function ownValue(env: Env, name: string): string | undefined {
  return Object.hasOwn(env, name) ? env[name] : undefined
}
