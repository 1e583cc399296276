import type { RecordedProgram } from '@palisade/protocol'
import { setTimeout as rest } from 'node:timers/promises'
import type { FindPrograms } from './find-programs.ts'
import type { TcpEnd } from './tcp-table.ts'

/** The pause after a scan is this many times its duration: scans take a twentieth of the time. */
const PAUSE_FACTOR = 19
const MAX_PAUSE_MS = 400
/** Connections that wait for a scan. */
const MAX_WAITING = 1_000
/** Connections whose program is kept until their end. */
const MAX_KEPT = 10_000

/** By `address port`. */
type Waiting = Map<string, { readonly end: TcpEnd; readonly uses: Use[] }>
type Use = (program: RecordedProgram | null) => void

/** Finds the programs behind connections, later than the caller needs to wait. */
export interface ProgramLookup {
  /**
   * Calls `use` once, with null for an unknown program. One scan serves all that wait, and scans
   * are spaced. `isOver` for a connection that has ended: its program is the one found before.
   */
  find(end: TcpEnd, isOver: boolean, use: Use): void
  /** Calls each waiting `use` now, with null. */
  settle(): void
  /** Resolves when all connections that wait now are settled. */
  settled(): Promise<void>
}

export function createProgramLookup(
  findPrograms: FindPrograms,
  /** Monotonic milliseconds. */
  uptime: () => number,
  pause: (ms: number) => Promise<unknown> = (ms) => rest(ms, undefined, { ref: false }),
): ProgramLookup {
  let waiting: Waiting = new Map()
  let scanned: Waiting = new Map()
  const kept = new Map<string, RecordedProgram>()
  let isScanning = false

  const keep = (key: string, program: RecordedProgram | null): void => {
    kept.delete(key)
    if (program === null) return
    const [oldest] = kept.keys()
    if (kept.size >= MAX_KEPT && oldest !== undefined) kept.delete(oldest)
    kept.set(key, program)
  }

  const settle = (from: Waiting, programs: readonly (RecordedProgram | null)[]): void => {
    for (const [index, [key, { uses }]] of [...from].entries()) {
      const program = programs[index] ?? null
      keep(key, program)
      for (const use of uses) use(program)
      from.delete(key)
    }
  }

  const scan = async (): Promise<void> => {
    scanned = waiting
    waiting = new Map()
    const ends = [...scanned.values()].map(({ end }) => end)
    settle(scanned, await findPrograms(ends).catch(() => []))
  }

  const scanAll = async (): Promise<void> => {
    while (waiting.size > 0) {
      const beganMs = uptime()
      await scan()
      await pause(Math.min(PAUSE_FACTOR * (uptime() - beganMs), MAX_PAUSE_MS))
    }
    isScanning = false
  }

  return {
    find(end, isOver, use) {
      const key = `${end.address} ${end.port}`
      const present = waiting.get(key) ?? (isOver ? scanned.get(key) : undefined)
      if (present !== undefined) {
        present.uses.push(use)
      } else if (isOver) {
        const program = kept.get(key) ?? null
        kept.delete(key)
        use(program)
      } else if (waiting.size >= MAX_WAITING) {
        use(null)
      } else {
        waiting.set(key, { end, uses: [use] })
        if (isScanning) return
        isScanning = true
        // Later: the caller is about to answer the program.
        setImmediate(() => void scanAll())
      }
    },
    settle() {
      settle(scanned, [])
      settle(waiting, [])
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
