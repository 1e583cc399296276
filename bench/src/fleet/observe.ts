import type { MeasuredProcess } from '../server/measured-process.ts'

/** Resource use of both processes at one moment. */
export interface Sample {
  /** Milliseconds since the start of the run. */
  readonly atMs: number
  /**
   * Share of one processor that the server used in the last second. Null while the server is down.
   */
  readonly server: number | null
  readonly serverRss: number | null
  /** Share of one processor used by the process that runs all agents. */
  readonly agents: number
  readonly agentsRss: number
  /**
   * Requests rejected by overload protection, and its delay. Null when `/metrics` is unavailable.
   */
  readonly turnedAway: number | null
  readonly delayMs: number | null
}

export interface Observer {
  /** Sets the process to sample. Null while no server runs. */
  watch(server: MeasuredProcess | null): void
  samples(): readonly Sample[]
  stop(): void
}

const INTERVAL_MS = 1000

/** Takes a sample every second. */
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
  }, INTERVAL_MS)

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

/** Returns null without a server, or when its process has ended. */
function read<T>(server: MeasuredProcess | null, look: (server: MeasuredProcess) => T): T | null {
  try {
    return server === null ? null : look(server)
  } catch {
    return null
  }
}
