import { proxyVariables } from '@palisade/client'
import { quoteShell } from '../terminal/quote-shell.ts'

type Env = Readonly<Record<string, string | undefined>>

/** Variables of a program's environment; null removes one. */
export type Changes = ReadonlyMap<string, string | null>

const JAVA_VARIABLE = 'JAVA_TOOL_OPTIONS'
const SSH_VARIABLE = 'GIT_SSH_COMMAND'
const GIT_KEY = 'http.proxy'

const JAVA_OPTIONS = / ?-Dhttps?\.(?:proxyHost|proxyPort|nonProxyHosts)=\S*/g

export interface EnvironmentOptions {
  /** `http://127.0.0.1:PORT` */
  readonly proxy: string
  /** The environment that is changed. */
  readonly env: Env
  /** Command line of this program, for `palisade connect`. */
  readonly self: readonly string[]
  /** Whether to set `JAVA_TOOL_OPTIONS`, of which every JVM prints a line to standard error. */
  readonly java: boolean
}

/** The variables that make programs use the proxy. Idempotent. */
export function proxyEnvironment({ proxy, env, self, java }: EnvironmentOptions): Changes {
  const changes = new Map<string, string | null>(proxyVariables(proxy))
  for (const [name, value] of withGitSetting(env, proxy)) changes.set(name, value)
  changes.set(SSH_VARIABLE, withSsh(env[SSH_VARIABLE] || 'ssh', self, proxy))
  if (java) changes.set(JAVA_VARIABLE, withJava(env[JAVA_VARIABLE] ?? '', new URL(proxy)))
  return changes
}

/** Undoes `proxyEnvironment`. A value from before it is lost, except in shared variables. */
export function withoutProxyEnvironment(env: Env): Changes {
  const changes = new Map<string, string | null>()
  for (const name of proxyVariables('').keys()) changes.set(name, null)
  for (const [name, value] of withoutGitSetting(env)) changes.set(name, value)
  const ssh = withoutSsh(env[SSH_VARIABLE] ?? '')
  changes.set(SSH_VARIABLE, ssh === 'ssh' || ssh === '' ? null : ssh)
  const java = (env[JAVA_VARIABLE] ?? '').replace(JAVA_OPTIONS, '')
  if (java !== (env[JAVA_VARIABLE] ?? '')) changes.set(JAVA_VARIABLE, java === '' ? null : java)
  return changes
}

/**
 * A setting in git's environment (git-config(1)), because `http.proxy` of a file takes precedence
 * over `http_proxy`. Other settings there stay.
 */
function withGitSetting(env: Env, proxy: string): readonly (readonly [string, string])[] {
  const count = gitCount(env)
  const found = gitIndex(env, count)
  const index = found < 0 ? count : found
  return [
    ['GIT_CONFIG_COUNT', String(Math.max(count, index + 1))],
    [`GIT_CONFIG_KEY_${index}`, GIT_KEY],
    [`GIT_CONFIG_VALUE_${index}`, proxy],
  ]
}

/** Takes the setting away. If others follow it, moves the last one to its index. */
function withoutGitSetting(env: Env): readonly (readonly [string, string | null])[] {
  const count = gitCount(env)
  const index = gitIndex(env, count)
  if (index < 0) return []
  const last = count - 1
  const moved = (part: string): string | null => env[`GIT_CONFIG_${part}_${last}`] ?? null
  return [
    [`GIT_CONFIG_KEY_${index}`, moved('KEY')],
    [`GIT_CONFIG_VALUE_${index}`, moved('VALUE')],
    [`GIT_CONFIG_KEY_${last}`, null],
    [`GIT_CONFIG_VALUE_${last}`, null],
    ['GIT_CONFIG_COUNT', last === 0 ? null : String(last)],
  ]
}

function gitCount(env: Env): number {
  const text = env['GIT_CONFIG_COUNT'] ?? ''
  return /^\d{1,4}$/.test(text) ? Number(text) : 0
}

/** The last one counts in git. */
function gitIndex(env: Env, count: number): number {
  for (let index = count - 1; index >= 0; index -= 1)
    if (env[`GIT_CONFIG_KEY_${index}`] === GIT_KEY) return index
  return -1
}

/**
 * ssh(1) runs the command in a shell and replaces `%h` and `%p`; git passes the whole variable
 * through another one. ssh uses its first `ProxyCommand`, so one of the user stays in force.
 */
function withSsh(command: string, self: readonly string[], proxy: string): string {
  const words = [...self, 'connect', '--proxy', proxy].map(quoteShell).join(' ')
  const option = `ProxyCommand=${words.replaceAll('%', '%%')} %h %p`
  return `${withoutSsh(command)} -o ${quoteShell(option)}`
}

/** Removes the option, which is always the last one. */
function withoutSsh(command: string): string {
  const at = command.lastIndexOf(" -o 'ProxyCommand=")
  const isOurs = at >= 0 && / connect --proxy \S+ %h %p'$/.test(command)
  return isOurs ? command.slice(0, at) : command
}

function withJava(former: string, { hostname, port }: URL): string {
  const options = ['http', 'https'].flatMap((scheme) => [
    `-D${scheme}.proxyHost=${hostname}`,
    `-D${scheme}.proxyPort=${port}`,
  ])
  const kept = former.replace(JAVA_OPTIONS, '')
  return [kept, ...options, '-Dhttp.nonProxyHosts=localhost|127.*|[::1]'].join(' ').trim()
}
