import { createHash, randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { createDeviceAccess } from '../../../agent/src/sync/transport/device-access.ts'
import { createFileFetcher } from '../../../agent/src/sync/transport/fetch-file.ts'
import { createHttpFetch } from '../../../agent/src/sync/transport/fetch-over-http.ts'
import { createProver } from '../../../packages/client/src/device/proof.ts'
import {
  FIRST_PREVIOUS,
  type BatchHeader,
  type BatchLine,
  type UploadedRecord,
} from '../../../packages/protocol/src/index.ts'
import { PROGRAMS } from './fill-records.ts'
import type { FleetMachine } from '../fill/fill-devices.ts'

const TIMEOUT_MS = 20_000
const PATH = '/api/v1/device/records'
const HEADERS = { 'content-type': 'application/x-ndjson', 'content-encoding': 'gzip' } as const
/** Targets of all machines together. */
const TARGETS = 20_000

const compress = promisify(gzip)

/** A machine that uploads records of its own making. */
export interface UploadingMachine {
  /** Makes and sends a batch. Returns whether the server has stored it. */
  upload(records: number): Promise<boolean>
}

/** `random` returns 0 to 1, exclusive. */
export function createUploadingMachine(
  { key }: Pick<FleetMachine, 'key'>,
  server: string,
  random: () => number,
): UploadingMachine {
  const clock = Date.now
  const fetch = createHttpFetch()
  const wire = { fetch, server, prove: createProver(key, clock), timeoutMs: TIMEOUT_MS }
  const access = createDeviceAccess({ ...wire, clock, random })
  const fetchFile = createFileFetcher({ ...wire, access })
  const signal = new AbortController().signal
  // A new one each time: the server knows the lines of an earlier one, and stores none again.
  const boot = randomUUID()
  let previous = FIRST_PREVIOUS
  let first = 1

  return {
    async upload(count) {
      const header: BatchHeader = { boot, first, previous }
      const from = Math.floor(random() * TARGETS)
      const lines = Array.from({ length: count }, (_, index): BatchLine => {
        const seq = first + index
        const hash = createHash('sha256').update(`${boot} ${seq}`).digest('hex')
        return { seq, hash, record: makeRecord((from + index) % TARGETS, clock()) }
      })
      const body = await compress(
        [header, ...lines].map((line) => `${JSON.stringify(line)}\n`).join(''),
      )
      const sent = { body, headers: HEADERS, maxBytes: 1024 }
      const answer = await fetchFile({ path: PATH, ...sent }, signal)
      if (answer.kind !== 'body') return false
      previous = lines.at(-1)?.hash ?? previous
      first += count
      return true
    },
  }
}

/** The record of a minute for one target; of four targets one is denied. */
function makeRecord(target: number, nowMs: number): UploadedRecord {
  const isDenied = target % 4 === 0
  const time = new Date(nowMs).toISOString()
  const rule = {
    policy_id: 'pol_0123456789abcdefghjkmnpqrstv',
    rule_id: `rule_${String(target % 50).padStart(28, '0')}`,
    decision: 'allow',
    origin: 'org',
  } as const
  return {
    time,
    until: time,
    point: 'proxy',
    protocol: 'connect',
    decision: isDenied ? 'deny' : 'allow',
    reason: isDenied ? 'default_deny' : 'rule',
    rules: isDenied ? [] : [rule],
    request: {
      action: target % 10 === 0 ? 'connect:udp' : 'connect:tcp',
      host: `service-${target}.example.com`,
      port: 443,
      ...(isDenied ? {} : { address: `192.0.2.${target % 250}` }),
    },
    revision: 7,
    count: 1 + (target % 5),
    program: PROGRAMS[target % PROGRAMS.length] ?? '',
  }
}
