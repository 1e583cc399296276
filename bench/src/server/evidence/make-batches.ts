import type { UploadedRecord } from '../../../../packages/protocol/src/index.ts'
import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { RawBody } from '../../../../server/src/http/body/raw-body.ts'
import { createRandom } from '../../workload/random.ts'

/** Lines of a full batch. */
export const LINES = 5_000
const MINUTE_MS = 60_000
const FIRST_PREVIOUS = '0'.repeat(64)

export interface MadeBatch {
  readonly deviceId: string
  readonly body: RawBody
  /** The same lines without the header, unpacked. */
  readonly lines: readonly string[]
}

/** How a batch chooses among the targets. */
export type Choice = (device: number, line: number) => number

/** Each target once, while there are any. */
export function chooseEach(tuples: number): Choice {
  return (device, line) => ((device * LINES + line) * STRIDE) % tuples
}

/** Half of the records are of a few popular targets, and the other half of any. */
export function chooseAny(seed: number, tuples: number): Choice {
  const random = createRandom(seed)
  return () => random.integer(random.integer(2) === 0 ? Math.min(POPULAR, tuples) : tuples)
}

/** Prime, so that neighbours are apart. */
const STRIDE = 7919
const POPULAR = 50

/** One full batch of each device in one minute. */
export function makeBatches(devices: number, choose: Choice, atMs: number): MadeBatch[] {
  return Array.from({ length: devices }, (_, index) => {
    const deviceId = `device-${String(index)}`
    const boot = `boot-${String(index)}-${String(atMs)}`
    const lines = Array.from({ length: LINES }, (_line, at) =>
      JSON.stringify({
        seq: at + 1,
        hash: hashOf(`${boot} ${String(at)}`),
        record: makeRecord(choose(index, at), atMs + Math.floor((at / LINES) * MINUTE_MS)),
      }),
    )
    const header = JSON.stringify({ boot, first: 1, previous: FIRST_PREVIOUS })
    const text = `${[header, ...lines].join('\n')}\n`
    return { deviceId, body: bodyOf(text), lines }
  })
}

function makeRecord(tuple: number, atMs: number): UploadedRecord {
  const allowed = tuple % 4 !== 0
  return {
    time: new Date(atMs).toISOString(),
    point: 'proxy',
    protocol: 'connect',
    decision: allowed ? 'allow' : 'deny',
    reason: allowed ? 'rule' : 'default_deny',
    rules: allowed ? [ruleOf(tuple % 200)] : [],
    request: {
      action: 'connect:tcp',
      host: `host-${String(tuple)}.service.example.com`,
      port: 443,
      address: `198.51.${String(tuple % 100)}.${String(tuple % 250)}`,
    },
    revision: 412,
    count: 1 + (tuple % 3),
    program: `/usr/bin/program-${String(tuple % 20)}`,
  }
}

function ruleOf(rule: number): UploadedRecord['rules'][number] {
  return {
    policy_id: `policy-${String(rule % 10).padStart(30, '0')}`,
    rule_id: `rule-${String(rule).padStart(32, '0')}`,
    decision: 'allow',
    origin: 'org',
  }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function bodyOf(text: string): RawBody {
  return {
    bytes: gzipSync(text),
    maxBytes: 1024 * 1024,
    tooLarge: false,
    contentType: 'application/x-ndjson',
    contentEncoding: 'gzip',
  }
}
