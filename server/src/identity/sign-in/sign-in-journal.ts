import type { AuditedStore } from '../../history/audit/audited-store.ts'
import { SERVER, type Author } from '../../history/author.ts'
import type { Log } from '../../operations/log/create-log.ts'
import type { FailedSignIns } from '../../store/contract/organizations.ts'

const MINUTE_MS = 60_000
/** Between two events about the failures of one account. */
const PAUSE_MS = 60 * MINUTE_MS
/** Such events of one minute, on all accounts: 14,400 a day at most, some 10 MB. */
const MAX_FAILURE_EVENTS = 10
/** In memory; what finds no room stays in metrics and log alone. */
const MAX_WAITING = 10_000
const MAX_NETWORKS = 5

/** A right password from a network that is not noted yet, or was long ago. */
export interface NewNetwork {
  readonly username: string
  readonly network: string
  readonly author: Author
  /** `Date.toISOString` */
  readonly at: string
}

/**
 * Sign-ins by password on their way into the history, once a minute; a server that is killed loses
 * the last minute of them, metrics and log have every one.
 *
 * A stranger must not fill the disk with wrong passwords: those of accounts that exist are summed
 * up, an account has an event an hour at most, and each minute the accounts with the most failures
 * go first.
 */
export interface SignInJournal {
  noteNetwork(network: NewNetwork): void
  /** When the network was noted, while that waits to be written; otherwise null. */
  seenAt(username: string, network: string): string | null
  noteFailure(
    username: string,
    failure: { readonly network: string; readonly throttled: boolean },
  ): void
  /** Writes what is due; never rejects. */
  flush(): Promise<void>
  /** Writes what is due, and nothing after that. */
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
  /** When an account had its last event about failures. */
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
      .catch((err: unknown) => log.warn({ err }, 'sign-ins could not be noted'))
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

/** Names hold no line feed. */
function keyOf(username: string, network: string): string {
  return `${username}\n${network}`
}

function countOf({ wrong, throttled }: Failures): number {
  return wrong + throttled
}
