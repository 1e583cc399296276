import type { RecordedProgram } from '@palisade/protocol'
import { setTimeout as rest } from 'node:timers/promises'
import type { FindClientPrograms } from './find-client-programs.ts'
import type { ClientEndpoint } from './client-endpoint.ts'

/** The pause after a scan is this many times its duration: scans take a fiftieth of the time. */
const PAUSE_FACTOR = 49
/** Bounds the delay of a record. */
const MAX_PAUSE_MS = 2_000
/** Connections that wait for a scan. */
const MAX_WAITING = 1_000
/** Connections whose program is kept, the newest. */
const MAX_KEPT = 10_000

/** The uses that wait for a program, by `keyOf`. */
type Waiting = Map<string, { readonly end: ClientEndpoint; readonly uses: Use[] }>
type Use = (program: RecordedProgram | null) => void

/** Finds the programs behind connections, later than the caller needs to wait. */
export interface ProgramLookup {
  /**
   * Call for each new connection. A program that is refused may end at once, so the search begins
   * before its request has arrived.
   */
  notice(end: ClientEndpoint): void
  /**
   * Calls `use` once, with null for an unknown program. One scan serves all that wait, and scans
   * are spaced. The program of a connection is searched once, and is known after its end too. That
   * of datagrams is searched again, because nothing tells when another program takes its port.
   */
  find(end: ClientEndpoint, use: Use): void
  /** Calls each waiting `use` now, with null. */
  settle(): void
  /** Resolves when all connections that wait now are settled. */
  settled(): Promise<void>
}

export function createProgramLookup(
  findPrograms: FindClientPrograms,
  /** Monotonic milliseconds. */
  uptime: () => number,
  pause: (ms: number) => Promise<unknown> = (ms) => rest(ms, undefined, { ref: false }),
): ProgramLookup {
  let waiting: Waiting = new Map()
  let scanned: Waiting = new Map()
  /** Null for a program that was not found. */
  const kept = new Map<string, RecordedProgram | null>()
  let isScanning = false

  const keep = (key: string, program: RecordedProgram | null): void => {
    kept.delete(key)
    const [oldest] = kept.keys()
    if (kept.size >= MAX_KEPT && oldest !== undefined) kept.delete(oldest)
    kept.set(key, program)
  }

  const settle = (from: Waiting, key: string, program: RecordedProgram | null): void => {
    const uses = from.get(key)?.uses ?? []
    from.delete(key)
    for (const use of uses) use(program)
  }

  const scan = async (): Promise<void> => {
    scanned = waiting
    waiting = new Map()
    const batch = [...scanned]
    const programs = await findPrograms(batch.map(([, { end }]) => end)).catch(() => [])
    for (const [index, [key, entry]] of batch.entries()) {
      // Meanwhile the port may belong to another connection.
      if (scanned.get(key) !== entry) continue
      const program = programs[index] ?? null
      if (!isOfDatagrams(entry.end)) keep(key, program)
      settle(scanned, key, program)
    }
  }

  const scanAll = async (): Promise<void> => {
    while (waiting.size > 0) {
      const beganMs = uptime()
      await scan()
      await pause(Math.min(PAUSE_FACTOR * (uptime() - beganMs), MAX_PAUSE_MS))
    }
    isScanning = false
  }

  /** Returns null without room for another. */
  const wait = (key: string, end: ClientEndpoint): Use[] | null => {
    if (waiting.size >= MAX_WAITING) return null
    const uses: Use[] = []
    waiting.set(key, { end, uses })
    if (isScanning) return uses
    isScanning = true
    queueMicrotask(() => void scanAll())
    return uses
  }

  return {
    notice(end) {
      const key = keyOf(end)
      // The port may have belonged to another program, which cannot be found any more.
      kept.delete(key)
      settle(scanned, key, null)
      settle(waiting, key, null)
      wait(key, end)
    },
    find(end, use) {
      const key = keyOf(end)
      const pending = waiting.get(key) ?? scanned.get(key)
      const known = kept.get(key)
      if (pending !== undefined) pending.uses.push(use)
      else if (known !== undefined) use(known)
      else {
        const uses = wait(key, end)
        if (uses === null) use(null)
        else uses.push(use)
      }
    },
    settle() {
      for (const key of scanned.keys()) settle(scanned, key, null)
      for (const key of waiting.keys()) settle(waiting, key, null)
    },
    settled() {
      const last = [...waiting.values()].at(-1) ?? [...scanned.values()].at(-1)
      if (last === undefined) return Promise.resolve()
      const { promise, resolve } = Promise.withResolvers<void>()
      last.uses.push(() => resolve())
      return promise
    },
  }
}

function isOfDatagrams({ within }: ClientEndpoint): boolean {
  return within !== undefined && within.connection === undefined
}

/** Two sandboxes may use the same addresses, and a program one port for several targets. */
function keyOf({ address, port, within }: ClientEndpoint): string {
  if (within === undefined) return `${address} ${port}`
  const { pid, connection } = within
  const server = connection === undefined ? 'udp' : keyOf(connection.server)
  return `${address} ${port} ${pid} ${server}`
}
