import { join } from 'node:path'
import { startChild } from '../process/ask-child.ts'
import type { LoadReport, LoadRequest } from './load-request.ts'

/** A process that generates load. */
export interface Load {
  define(set: string, requests: readonly string[]): Promise<void>
  /** Sends each request of a set once, and defines `known`, whose requests carry their tags. */
  prime(port: number, set: string, known: string): Promise<void>
  run(run: Omit<LoadRequest & { kind: 'run' }, 'kind'>): Promise<LoadReport>
  pace(paced: Omit<LoadRequest & { kind: 'pace' }, 'kind'>): Promise<LoadReport>
  stop(): void
}

const PRIMING_CONNECTIONS = 8

/** Starts a process that generates load, and stops it after the work. */
export async function withLoad<T>(work: (load: Load) => Promise<T>): Promise<T> {
  const load = startLoad()
  try {
    return await work(load)
  } finally {
    load.stop()
  }
}

function startLoad(): Load {
  const child = startChild<LoadRequest, LoadReport>(join(import.meta.dirname, 'child.ts'))
  return {
    async define(set, requests) {
      await child.ask({ kind: 'define', set, requests })
    },
    async prime(port, set, known) {
      await child.ask({ kind: 'prime', port, set, known, connections: PRIMING_CONNECTIONS })
    },
    run: (run) => child.ask({ kind: 'run', ...run }),
    pace: (paced) => child.ask({ kind: 'pace', ...paced }),
    stop: () => child.stop(),
  }
}
