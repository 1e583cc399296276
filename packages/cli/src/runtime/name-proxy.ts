import { ClientError } from '@palisade/client'

type Env = Readonly<Record<string, string | undefined>>

interface Proxy {
  readonly url: URL
  /** Environment variable that holds the URL. */
  readonly variable: string
}

/**
 * Wraps `fetch` so that the error names the environment's proxy when the proxy is why a server
 * cannot be reached. Only the cause of Node's error distinguishes a refusing proxy from a refusing
 * server. Programs on a machine with an agent use the agent's proxy, which may deny the server or
 * be stopped.
 */
export function nameProxy(fetch: typeof globalThis.fetch, env: Env): typeof globalThis.fetch {
  return async (input, options) => {
    try {
      return await fetch(input, options)
    } catch (error) {
      const server = new URL(input instanceof Request ? input.url : input)
      const proxy = findProxy(server, env)
      const fault = proxy === null ? null : describeFault(error, proxy, server)
      if (fault === null) throw error
      throw new ClientError(
        'ERR_SERVER_UNREACHABLE',
        `cannot reach the server at ${server.origin}: ${fault}; ${adviseWithout(server, env)}`,
        { cause: error },
      )
    }
  }
}

/**
 * Reads the variables in Node's order. Only the error shows whether the proxy was used: Node may
 * ignore it, and NO_PROXY may name the server.
 */
function findProxy({ protocol }: URL, env: Env): Proxy | null {
  const schemes = protocol === 'https:' ? ['https', 'http'] : ['http']
  for (const name of schemes.map((scheme) => `${scheme}_proxy`)) {
    const variable = env[name] === undefined ? name.toUpperCase() : name
    const text = env[variable] ?? ''
    if (text !== '') return URL.canParse(text) ? { url: new URL(text), variable } : null
  }
  return null
}

/**
 * Returns null if the failure is not about the proxy. The URL may contain a password, so the
 * message names only its origin, or only the variable if the URL is more than an origin.
 */
function describeFault(error: unknown, { url, variable }: Proxy, server: URL): string | null {
  const isPlain = /^https?:$/.test(url.protocol) && url.pathname === '/'
  const shown = isPlain ? `the proxy ${url.origin} (${variable})` : `the proxy of ${variable}`
  for (const cause of causesOf(error)) {
    const status = /^Proxy response \((\d+)\)/.exec(cause.message)?.[1]
    if (status !== undefined) return `${shown} refused to connect to it with status ${status}`
    if (isAbout(cause, url) && !isAbout(cause, server)) return `${shown} cannot be reached`
  }
  return null
}

/** The error and its causes, including those for each address of a name. */
function causesOf(error: unknown): readonly Error[] {
  if (!(error instanceof Error)) return []
  const tried = error instanceof AggregateError ? (error.errors as readonly unknown[]) : []
  return [error, ...[...tried, error.cause].flatMap(causesOf)]
}

/** Whether a failed connection or DNS lookup was for `url`. */
function isAbout(cause: Error, url: URL): boolean {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  if ('hostname' in cause) return cause.hostname === host
  if (!('port' in cause && 'address' in cause)) return false
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80)
  const isName = !/^[\d.]+$|:/.test(host)
  return cause.port === port && (isName || cause.address === host)
}

/** Node reads `NO_PROXY` only if `no_proxy` is absent. */
function adviseWithout({ hostname }: URL, env: Env): string {
  const variable = env['no_proxy'] === undefined ? 'NO_PROXY' : 'no_proxy'
  return (env[variable] ?? '') === ''
    ? `to bypass the proxy, set \`${variable}=${hostname}\``
    : `to bypass the proxy, add \`,${hostname}\` to \`${variable}\``
}
