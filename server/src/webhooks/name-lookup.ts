import { lookup, Resolver } from 'node:dns/promises'

/**
 * All addresses of a name; rejects when the name has no address, or `signal` is aborted meanwhile.
 */
export type NameLookup = (name: string, signal: AbortSignal) => Promise<readonly string[]>

export interface NameLookupOptions {
  /** `ip` or `ip:port`; empty for those of resolv.conf(5). */
  readonly servers?: readonly string[]
  /** For the name servers. */
  readonly timeoutMs?: number
  /** getaddrinfo(3), which knows the hosts file as well. */
  readonly system?: (name: string) => Promise<readonly string[]>
}

const TIMEOUT_MS = 5_000
const TRIES = 2

/**
 * Asks the name servers without a thread. getaddrinfo(3) holds one for as long as they are silent,
 * and libuv has two for it: two webhooks with names of a silent zone would keep all others, the
 * issuer's keys and new connections to PostgreSQL from theirs. So it is asked for names alone that
 * the servers do not know, such as those of the hosts file, and for one at a time.
 */
export function createNameLookup({
  servers = [],
  timeoutMs = TIMEOUT_MS,
  system = askSystem,
}: NameLookupOptions = {}): NameLookup {
  let last: Promise<unknown> = Promise.resolve()

  return async (name, signal) => {
    const found = await askServers(name)
    if (found.length > 0) return found
    const mine = last.then(() => {
      signal.throwIfAborted()
      return system(name)
    })
    last = mine.catch(() => undefined)
    return mine
  }

  /** Empty when the servers do not know the name; rejects when they are silent. */
  async function askServers(name: string): Promise<readonly string[]> {
    const resolver = new Resolver({ timeout: Math.ceil(timeoutMs / TRIES), tries: TRIES })
    if (servers.length > 0) resolver.setServers(servers)
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
    const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    if (found.length > 0) return found
    for (const answer of answers)
      if (answer.status === 'rejected' && isSilence(answer.reason)) throw answer.reason
    return []
  }
}

function isSilence(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && error.code === 'ETIMEOUT'
}

async function askSystem(name: string): Promise<string[]> {
  const found = await lookup(name, { all: true })
  return found.map(({ address }) => address)
}
