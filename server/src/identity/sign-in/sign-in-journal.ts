import type { AuditedStore } from '../../history/audit/audited-store.ts'
import { SERVER, type Author } from '../../history/author.ts'
import type { Log } from '../../operations/log/create-log.ts'
import type { FailedSignIns } from '../../store/aggregates/people/users.ts'

const MINUTE_MS = 60_000
/** Minimum time between two events about failures of one account. */
const PAUSE_MS = 60 * MINUTE_MS
/** Failure events a minute over all accounts: at most 14,400 a day, about 10 MB. */
const MAX_FAILURE_EVENTS = 10
/** Bounds the memory. Sign-ins beyond it appear only in metrics and log. */
const MAX_WAITING = 10_000
const MAX_NETWORKS = 5

/** A successful sign-in by password from a network that must be noted. */
export interface NewNetwork {
  readonly username: string
  readonly network: string
  readonly author: Author
  /** `Date.toISOString` */
  readonly at: string
}

/**
 * Writes sign-ins by password to the history, once a minute. A killed server loses the last minute;
 * metrics and log contain every sign-in.
 *
 * Strangers must not fill the disk with wrong passwords. So failures of existing accounts are
 * summed up, an account has at most one event an hour, and accounts with the most failures go
 * first.
 */
export interface SignInJournal {
  noteNetwork(network: NewNetwork): void
  /** When the network was noted, if the note is still pending; otherwise null. */
  seenAt(username: string, network: string): string | null
  noteFailure(
    username: string,
    failure: { readonly network: string; readonly throttled: boolean },
  ): void
  /** Writes all due events. Never rejects. */
  flush(): Promise<void>
  /** Writes all due events and stops the timer. */
  close(): Promise<void>
}

interface Failures extends FailedSignIns {
  wrong: number
  throttled: number
  readonly networks: string[]
}

export function createSignInJournal(deps: {
  readonly store: AuditedStore
  readonly log: Pick<Log, 'warn'>
  readonly monotonicMs: () => number
}): SignInJournal {
  const { store, log, monotonicMs } = deps
  const networks = new Map<string, NewNetwork>()
  const failures = new Map<string, Failures>()
  /** The time of the last failure event, by account. */
  const writtenMs = new Map<string, number>()
  let timer: NodeJS.Timeout | null = null

  function arm(): void {
    timer ??= setTimeout(() => {
      timer = null
      void flush()
    }, MINUTE_MS).unref()
  }

  function takeFailures(): [string, Failures][] {
    for (const [username, atMs] of writtenMs)
      if (monotonicMs() - atMs >= PAUSE_MS) writtenMs.delete(username)
    const due = [...failures].filter(([username]) => !writtenMs.has(username))
    const most = due
      .toSorted((one, other) => countOf(other[1]) - countOf(one[1]))
      .slice(0, MAX_FAILURE_EVENTS)
    for (const [username] of most) failures.delete(username)
    return most
  }

  async function write(author: Author, work: Parameters<AuditedStore['write']>[1]): Promise<void> {
    await store
      .write(author, work)
      .catch((err: unknown) => log.warn({ err }, 'sign-ins cannot be written to the history'))
  }

  async function flush(): Promise<void> {
    for (const [key, { author, username, network, at }] of networks) {
      await write(author, ({ knownNetworks }) => knownNetworks.note(username, network, at))
      networks.delete(key)
    }
    for (const [username, { wrong, throttled, networks: from }] of takeFailures()) {
      writtenMs.set(username, monotonicMs())
      const sum = { wrong, throttled, networks: from }
      await write(SERVER, ({ users }) => users.noteFailedSignIns(username, sum))
    }
    if (networks.size + failures.size > 0) arm()
  }

  return {
    noteNetwork(network) {
      if (networks.size >= MAX_WAITING) return
      networks.set(keyOf(network.username, network.network), network)
      arm()
    },
    seenAt: (username, network) => networks.get(keyOf(username, network))?.at ?? null,
    noteFailure(username, { network, throttled }) {
      const sum = failures.get(username) ?? { wrong: 0, throttled: 0, networks: [] }
      if (throttled) sum.throttled += 1
      else sum.wrong += 1
      if (sum.networks.length < MAX_NETWORKS && !sum.networks.includes(network))
        sum.networks.push(network)
      if (failures.size < MAX_WAITING || failures.has(username)) failures.set(username, sum)
      arm()
    },
    flush,
    async close() {
      await flush()
      if (timer !== null) clearTimeout(timer)
    },
  }
}

/** Unambiguous, because names contain no line feed. */
function keyOf(username: string, network: string): string {
  return `${username}\n${network}`
}

function countOf({ wrong, throttled }: Failures): number {
  return wrong + throttled
}
