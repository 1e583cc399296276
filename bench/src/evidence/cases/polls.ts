import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { rangeOf, type Range } from '../../measure/range.ts'
import { fillFleet } from '../../hints/fill-fleet.ts'
import { startServer } from '../../server/cases/request-rows.ts'
import { fillDataDirectory } from '../../server/fill/fill-data-directory.ts'
import type { LoadReport } from '../../server/load/load-request.ts'
import { startLoad } from '../../server/load/start-load.ts'
import { pollRequests } from '../../server/requests.ts'
import { uploadFrom } from '../upload-load.ts'

export interface PollsOptions {
  readonly rounds: number
  readonly forMs: number
  readonly recordsPerSecond: number
}

export interface PollsResult {
  /** Milliseconds. */
  readonly rest_p99: Range
  readonly beside_p99: Range
  /** `beside_p99` as a multiple of `rest_p99`, round by round. */
  readonly ratio: Range
  readonly records_per_second: Range
  /** Microseconds of the server's processor time a record, polls subtracted. */
  readonly cpu_us: Range
  readonly failed_batches: number
  readonly failed_polls: number
}

const MACHINES = 150
const POLLING = { policies: 5, rulesPerPolicy: 10, editors: 1, devices: 200 } as const
const POLLS_PER_SECOND = 200
const RECORDS_PER_BATCH = 500
const WARM_UP_MS = 5_000
const SETTLE_MS = 1_000

/** Measures polls of one organization at rest, and beside the uploads of another one. */
export async function measurePolls(
  folder: string,
  { rounds, forMs, recordsPerSecond }: PollsOptions,
): Promise<PollsResult> {
  const directory = join(folder, 'polls')
  const filled = await fillDataDirectory(directory, 'polling', 1, POLLING)
  const { machines } = await fillFleet(directory, MACHINES)
  const server = await startServer(directory)
  const load = startLoad()
  const { port } = server
  const poll = async (): Promise<{ readonly report: LoadReport; readonly cpuUs: number }> => {
    const before = server.cpuUs()
    const report = await load.ask({
      kind: 'pace',
      port,
      set: 'again',
      perSecond: POLLS_PER_SECOND,
      forMs,
    })
    return { report, cpuUs: server.cpuUs() - before }
  }
  const upload = (uploadMs: number) =>
    uploadFrom({
      server: `http://127.0.0.1:${port}`,
      machines,
      recordsPerSecond,
      recordsPerBatch: RECORDS_PER_BATCH,
      forMs: uploadMs,
    })
  try {
    await load.ask({ kind: 'define', set: 'first', requests: pollRequests(filled) })
    const primed = { set: 'first', known: 'again', connections: 8, timeoutMs: 60_000 } as const
    await load.ask({ kind: 'prime', port, ...primed })
    await Promise.all([upload(WARM_UP_MS), poll()])
    const taken = { rest: [], beside: [], ratio: [], rate: [], cpuUs: [] } as Record<
      'rest' | 'beside' | 'ratio' | 'rate' | 'cpuUs',
      number[]
    >
    let [failedBatches, failedPolls] = [0, 0]
    for (let round = 0; round < rounds; round += 1) {
      await pause(SETTLE_MS)
      const rest = await poll()
      const [beside, uploaded] = await Promise.all([poll(), upload(forMs)])
      taken.rest.push(rest.report.p99Ms)
      taken.beside.push(beside.report.p99Ms)
      taken.ratio.push(beside.report.p99Ms / rest.report.p99Ms)
      taken.rate.push((1000 * uploaded.records) / uploaded.elapsed_ms)
      taken.cpuUs.push((beside.cpuUs - rest.cpuUs) / uploaded.records)
      failedBatches += uploaded.failed_batches
      // A timestamp that was renewed meanwhile is answered with 200.
      const { 200: renewed = 0, 304: known = 0 } = beside.report.statuses
      failedPolls += beside.report.completed - renewed - known
    }
    return {
      rest_p99: rangeOf(taken.rest),
      beside_p99: rangeOf(taken.beside),
      ratio: rangeOf(taken.ratio),
      records_per_second: rangeOf(taken.rate),
      cpu_us: rangeOf(taken.cpuUs),
      failed_batches: failedBatches,
      failed_polls: failedPolls,
    }
  } finally {
    load.stop()
    await server.stop()
  }
}
