import type { MeasuredProcess } from '../server/measured-process.ts'

/** What both processes used up to one moment. */
export interface Sample {
  /** Since the start of the run, milliseconds. */
  readonly atMs: number
  /**
   * Processor time of the server within the second before, as a share of one processor; null while
   * it is away.
   */
  readonly server: number | null
  readonly serverRss: number | null
  /** Of the process that is all agents. */
  readonly agents: number
  readonly agentsRss: number
  /** Requests that the server has turned away, and how late it was; null when it did not say. */
  readonly turnedAway: number | null
  readonly delayMs: number | null
}

export interface Observer {
  /** From now on that one; null while there is none. */
  watch(server: MeasuredProcess | null): void
  samples(): readonly Sample[]
  stop(): void
}

const EVERY_MS = 1000

/** Looks once a second. */
export function observe(startedMs: number): Observer {
  const samples: Sample[] = []
  let server: MeasuredProcess | null = null
  let before = { atMs: performance.now(), server: 0, agents: process.cpuUsage() }
  let isServerNew = true
  let counted: Pick<Sample, 'turnedAway' | 'delayMs'> = { turnedAway: null, delayMs: null }

  const timer = setInterval(() => {
    const atMs = performance.now()
    const wallUs = (atMs - before.atMs) * 1000
    const used = process.cpuUsage(before.agents)
    const spentUs = read(server, (each) => each.cpuUs())
    samples.push({
      atMs: atMs - startedMs,
      server: spentUs === null || isServerNew ? null : (spentUs - before.server) / wallUs,
      serverRss: read(server, (each) => each.rss().now),
      agents: (used.user + used.system) / wallUs,
      agentsRss: process.memoryUsage.rss(),
      ...counted,
    })
    isServerNew = spentUs === null
    before = { atMs, server: spentUs ?? 0, agents: process.cpuUsage() }
    if (server !== null && samples.length % 5 === 0) void count(server.port)
  }, EVERY_MS)

  async function count(port: number): Promise<void> {
    try {
      const answer = await fetch(`http://127.0.0.1:${port}/metrics`, {
        headers: { connection: 'close' },
      })
      const text = await answer.text()
      const value = (name: string): number =>
        Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
      counted = {
        turnedAway: value('palisade_turned_away_total'),
        delayMs: value('palisade_overload_delay_seconds') * 1000,
      }
    } catch {
      counted = { turnedAway: null, delayMs: null }
    }
  }

  return {
    watch(next) {
      server = next
      isServerNew = true
      counted = { turnedAway: null, delayMs: null }
    },
    samples: () => samples,
    stop: () => clearInterval(timer),
  }
}

/** Null when there is none, or it is gone by now. */
function read<T>(server: MeasuredProcess | null, look: (server: MeasuredProcess) => T): T | null {
  try {
    return server === null ? null : look(server)
  } catch {
    return null
  }
}
