import { Resolver } from 'node:dns/promises'
import { createHostsFile, type FindListed } from './hosts-file.ts'

/** All addresses of a name, in the order to try them; rejects when there are none or in time. */
export type Resolve = (name: string) => Promise<readonly string[]>

/** The system's own ways to find the addresses of a name. */
export interface SystemNames {
  readonly findListed: FindListed
  /** Empty for those of resolv.conf(5) as it is when a name is asked for. */
  readonly servers: readonly string[]
}

const TRIES = 2

/**
 * A resolver that asks `servers` (`ip` or `ip:port`), or as the system does when the list is empty:
 * the hosts file first, which knows what name servers do not, then the name servers of the machine.
 * Answers within `timeoutMs`. A name is absolute: no search list applies to it.
 *
 * getaddrinfo(3) would hold a thread for each name, of which node has two: one program that asks
 * for names whose servers are silent would keep all others, and the agent itself, from finding any.
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

/**
 * A name often has addresses of one family only: one failure is no failure, nor is it when the
 * servers are silent about one.
 */
async function askServers(
  servers: readonly string[],
  timeoutMs: number,
  name: string,
): Promise<readonly string[]> {
  // One for each name: `cancel` ends every query of a resolver.
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
