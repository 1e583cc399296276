import { Resolver, lookup } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { findHostAddresses, HOSTS_FILE } from './hosts-file.ts'

/** All addresses of a name, in the order to try them; rejects when there are none or in time. */
export type Resolve = (name: string) => Promise<readonly string[]>

/** The system's own ways to find the addresses of a name. */
export interface SystemNames {
  /** Text of the hosts file; empty without one. */
  readonly readHosts: () => Promise<string>
  /** getaddrinfo(3). */
  readonly lookup: (name: string) => Promise<readonly string[]>
}

const SYSTEM: SystemNames = {
  readHosts: () => readFile(HOSTS_FILE, 'latin1').catch(() => ''),
  lookup: async (name) => {
    const found = await lookup(name, { all: true, order: 'verbatim' })
    return found.map(({ address }) => address)
  },
}

/**
 * A resolver that asks `servers` (`ip` or `ip:port`), or the system when the list is empty.
 * Answers within `timeoutMs`. A name is absolute: no search list applies to it.
 */
export function createResolver(
  servers: readonly string[],
  timeoutMs: number,
  system: SystemNames = SYSTEM,
): Resolve {
  if (servers.length === 0) return (name) => within(timeoutMs, askSystem(system, name))
  const tries = 2
  return async (name) => {
    // One for each name: `cancel` ends every query of a resolver.
    const resolver = new Resolver({ timeout: Math.ceil(timeoutMs / tries), tries })
    resolver.setServers(servers)
    try {
      return await within(timeoutMs, queryBoth(resolver, name))
    } finally {
      resolver.cancel()
    }
  }
}

/**
 * The closing dot keeps the search list of resolv.conf(5) away, which would turn the decided name
 * into another one. The hosts file knows no name with such a dot, so it is read first.
 */
async function askSystem(system: SystemNames, name: string): Promise<readonly string[]> {
  const listed = findHostAddresses(await system.readHosts(), name)
  return listed.length > 0 ? listed : system.lookup(`${name}.`)
}

/** A name often has addresses of one family only: one failure is no failure. */
async function queryBoth(resolver: Resolver, name: string): Promise<readonly string[]> {
  const [v4, v6] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
  if (v4.status === 'rejected' && v6.status === 'rejected') throw v4.reason
  return [
    ...(v4.status === 'fulfilled' ? v4.value : []),
    ...(v6.status === 'fulfilled' ? v6.value : []),
  ]
}

async function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
