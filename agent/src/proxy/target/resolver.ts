import { Resolver } from 'node:dns/promises'
import { createHostsFile, type FindListed } from './hosts-file.ts'

/** Returns all addresses of a name in the order to try; rejects without any, or after a timeout. */
export type Resolve = (name: string) => Promise<readonly string[]>

/** A target of an SRV record (RFC 2782). */
export interface Service {
  readonly name: string
  readonly port: number
  readonly priority: number
  readonly weight: number
}

/** Returns the targets of a service; rejects with the `code` of `node:dns` without any. */
export type ResolveServices = (name: string) => Promise<readonly Service[]>

/** The system's own sources of addresses. */
export interface SystemNames {
  readonly findListed: FindListed
  /** Empty for the servers of resolv.conf(5) at the time of a lookup. */
  readonly servers: readonly string[]
}

const TRIES = 2

/**
 * Creates a resolver that asks `servers` (`ip` or `ip:port`). With an empty list it reads the hosts
 * file first, because name servers do not know its names, then asks the name servers of the
 * machine. Answers within `timeoutMs`. A name is absolute: no search list applies to it.
 *
 * getaddrinfo(3) would hold a thread for each name, of which Node has two for this: one program
 * that asks for names with silent servers would block all others, and the agent itself.
 */
export function createResolver(
  servers: readonly string[],
  timeoutMs: number,
  system: SystemNames = { findListed: createHostsFile(), servers: [] },
): Resolve {
  if (servers.length > 0) return (name) => askServers(servers, timeoutMs, name)
  return async (name) => {
    const listed = await system.findListed(name)
    return listed.length > 0 ? listed : askServers(system.servers, timeoutMs, name)
  }
}

/** Asks `servers`, or those of the machine, for SRV records. The hosts file cannot hold them. */
export function createServiceResolver(
  servers: readonly string[],
  timeoutMs: number,
): ResolveServices {
  return (name) => {
    const resolver = new Resolver({ timeout: Math.ceil(timeoutMs / TRIES), tries: TRIES })
    if (servers.length > 0) resolver.setServers(servers)
    const timer = setTimeout(() => resolver.cancel(), timeoutMs)
    return resolver.resolveSrv(name).finally(() => clearTimeout(timer))
  }
}

/**
 * Asks for both address families. A name often has only one, so a failure or a timeout for one
 * family is ignored when the other answers.
 */
async function askServers(
  servers: readonly string[],
  timeoutMs: number,
  name: string,
): Promise<readonly string[]> {
  // One resolver for each name, because `cancel` ends all queries of a resolver.
  const resolver = new Resolver({ timeout: Math.ceil(timeoutMs / TRIES), tries: TRIES })
  if (servers.length > 0) resolver.setServers(servers)
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    resolver.cancel()
  }, timeoutMs)
  try {
    const families = [resolver.resolve4(name), resolver.resolve6(name)]
    const answers = await Promise.allSettled(families)
    const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    if (found.length > 0) return found
    if (isLate) throw new Error(`no answer within ${timeoutMs} ms`)
    throw answers.find((answer) => answer.status === 'rejected')?.reason
  } finally {
    clearTimeout(timer)
  }
}
