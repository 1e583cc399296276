import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { divide, rangeOf, single } from '../figures/range.ts'
import type { Rows } from '../figures/table.ts'
import { fillDataDirectory } from '../fill/fill-data-directory.ts'
import { withLoad } from '../load/load.ts'
import { pollRequests } from '../load/requests.ts'
import { startServer, withServers } from '../server/start-server.ts'
import { uploadFrom } from './upload-load.ts'

export interface IngestOptions {
  readonly rounds: number
  readonly forMs: number
  readonly recordsPerSecond: number
}

const POLLING = { policies: 5, rulesPerPolicy: 10, editors: 1, devices: 200 } as const
const UPLOADING = { ...POLLING, devices: 0, machines: 150 } as const
const POLLS_PER_SECOND = 200
const RECORDS_PER_BATCH = 500
const WARM_UP_MS = 5_000
const SETTLE_MS = 1_000

/** Measures polls of one organization at rest, and beside the uploads of another one. */
export async function measureIngest(
  folder: string,
  { rounds, forMs, recordsPerSecond }: IngestOptions,
): Promise<Rows> {
  const directory = join(folder, 'ingest')
  const polling = await fillDataDirectory(directory, 'polling', 1, POLLING)
  const [uploading] = await fillDataDirectory(directory, 'uploading', 1, UPLOADING)
  const machines = uploading?.machines ?? []
  return withServers({ server: await startServer(directory) }, ({ server }) =>
    withLoad(async (load) => {
      const { port } = server
      const poll = async () => {
        const before = server.cpuUs()
        const report = await load.pace({ port, set: 'again', perSecond: POLLS_PER_SECOND, forMs })
        // A timestamp that was renewed meanwhile is answered with 200.
        const { 200: renewed = 0, 304: known = 0 } = report.statuses
        const failed = report.completed - renewed - known
        return { p99Ms: report.p99Ms, failed, cpuUs: server.cpuUs() - before }
      }
      const upload = (uploadMs: number) =>
        uploadFrom({
          server: `http://127.0.0.1:${port}`,
          machines,
          recordsPerSecond,
          recordsPerBatch: RECORDS_PER_BATCH,
          forMs: uploadMs,
        })
      await load.define('first', pollRequests(polling))
      await load.prime(port, 'first', 'again')
      await Promise.all([upload(WARM_UP_MS), poll()])
      const readings = []
      for (let round = 0; round < rounds; round += 1) {
        await pause(SETTLE_MS)
        const rest = await poll()
        const [beside, uploaded] = await Promise.all([poll(), upload(forMs)])
        readings.push({ rest, beside, uploaded })
      }
      return summarize(readings)
    }),
  )
}

interface Polled {
  readonly p99Ms: number
  readonly failed: number
  readonly cpuUs: number
}

interface Reading {
  readonly rest: Polled
  readonly beside: Polled
  readonly uploaded: Awaited<ReturnType<typeof uploadFrom>>
}

/** The processor time of the polls is subtracted from that of the records. */
function summarize(readings: readonly Reading[]): Rows {
  const rest = readings.map((each) => each.rest.p99Ms)
  const beside = readings.map((each) => each.beside.p99Ms)
  const sum = (of: (each: Reading) => number) =>
    single(readings.reduce((all, each) => all + of(each), 0))
  return {
    polls: {
      'rest p99 ms': rangeOf(rest),
      'p99 ms': rangeOf(beside),
      'x rest': rangeOf(divide(beside, rest)),
      failed: sum((each) => each.beside.failed),
    },
    records: {
      'a second': rangeOf(
        readings.map(({ uploaded }) => (1000 * uploaded.records) / uploaded.elapsed_ms),
      ),
      'CPU us': rangeOf(
        readings.map((each) => (each.beside.cpuUs - each.rest.cpuUs) / each.uploaded.records),
      ),
      'failed batches': sum(({ uploaded }) => uploaded.failed_batches),
    },
  }
}
