import { join } from 'node:path'
import { toRows } from '../../../../server/src/evidence/ingest/to-rows.ts'
import {
  EVIDENCE_FILE,
  openEvidenceStore,
} from '../../../../server/src/evidence/store/open-evidence-store.ts'
import type { DeviceChain } from '../../../../server/src/evidence/store/evidence-record.ts'
import { permissionsOf } from '../../../../server/src/identity/roles.ts'
import { openDataDirectory } from '../../../../server/src/operations/storage/data-directory.ts'
import { quantile } from '../../measure/quantile.ts'
import { startServer } from '../../server/cases/request-rows.ts'
import { fillDataDirectory } from '../../server/fill/fill-data-directory.ts'
import { fillMember } from '../../server/fill/fill-organization.ts'
import { exchange } from '../../server/requests.ts'
import { makeRecord, PROGRAMS } from '../uploading-machine.ts'

export interface AuditResult {
  readonly rows: number
  /** Processor time of the store a row, in microseconds. */
  readonly store_cpu_us: number
  /** Milliseconds of the first pages of all queries. */
  readonly p50_ms: number
  readonly p95_ms: number
  readonly most_ms: number
  /** The slowest query. */
  readonly slowest: string
  readonly queries: number
}

const ORG = 'audited-0'
const SHAPE = { policies: 1, rulesPerPolicy: 1, editors: 0, devices: 0 } as const
const DEVICES = 1_000
const USERS = 200
const BATCH = 5_000
const TARGETS = 20_000
const DAYS = 29
const DAY_MS = 24 * 60 * 60_000
const SEED_STEP = 7_919

/** Measures the first page of each combination of filters in a full evidence store. */
export async function measureAudit(
  folder: string,
  { rows, tell }: { readonly rows: number; readonly tell: (line: string) => void },
): Promise<AuditResult> {
  const directory = join(folder, 'audit')
  await fillDataDirectory(directory, 'audited', 1, SHAPE)
  const auditor = await fillAuditor(directory)
  const storeCpuUs = await fillEvidence(directory, rows, tell)
  const server = await startServer(directory)
  try {
    const token = await exchange(server.port, auditor.username, auditor.token)
    const took: { readonly ms: number; readonly query: string }[] = []
    for (const query of listQueries(Date.now())) {
      const url = `http://127.0.0.1:${server.port}/v2/auditlogs/governance/${ORG}?${query}`
      const start = performance.now()
      const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
      await answer.text()
      if (!answer.ok) throw new Error(`${query} was answered with ${answer.status}`)
      took.push({ ms: performance.now() - start, query })
    }
    const times = took.map(({ ms }) => ms)
    const most = Math.max(...times)
    return {
      rows,
      store_cpu_us: storeCpuUs,
      p50_ms: quantile(times, 0.5),
      p95_ms: quantile(times, 0.95),
      most_ms: most,
      slowest: took.find(({ ms }) => ms === most)?.query ?? '',
      queries: times.length,
    }
  } finally {
    await server.stop()
  }
}

async function fillAuditor(directory: string): ReturnType<typeof fillMember> {
  const role = 'auditor'
  const store = openDataDirectory(directory)
  try {
    return await store.transaction((writer) =>
      fillMember(writer, { org: ORG, username: role, role, permissions: permissionsOf(role) }),
    )
  } finally {
    await store.close()
  }
}

/** Writes rows of the last month, oldest first. Returns microseconds of processor time a row. */
async function fillEvidence(
  dataDir: string,
  rows: number,
  tell: (line: string) => void,
): Promise<number> {
  const evidence = await openEvidenceStore({
    dataDir,
    databaseUrl: null,
    databaseConnections: 1,
  })
  const startMs = Date.now() - DAYS * DAY_MS
  const chains = new Map<string, DeviceChain>()
  const before = process.cpuUsage()
  try {
    for (let written = 0; written < rows; written += BATCH) {
      if (written % 1_000_000 === 0) tell(`${written} of ${rows} rows in ${EVIDENCE_FILE}`)
      const batch = written / BATCH
      const nowMs = startMs + Math.floor((written / rows) * DAYS * DAY_MS)
      const device = `device-${batch % DEVICES}`
      const chain = chains.get(device)
      const lines = Array.from({ length: BATCH }, (_, index) => ({
        seq: index + 1,
        hash: '0'.repeat(64),
        record: makeRecord((batch * SEED_STEP + index) % TARGETS, nowMs),
      }))
      const next = nextChain(chain, nowMs)
      await evidence.append({
        org: ORG,
        device_id: device,
        username: `user-${batch % USERS}`,
        rows: toRows(lines, { boot: `boot-${device}`, receivedMs: nowMs }).rows,
        losses: [],
        chain: next,
        follows: chain?.received_ms ?? null,
      })
      chains.set(device, next)
    }
    const { user, system } = process.cpuUsage(before)
    return (user + system) / rows
  } finally {
    await evidence.close()
  }
}

function nextChain(before: DeviceChain | undefined, nowMs: number): DeviceChain {
  const seq = (before?.position.seq ?? 0) + BATCH
  return {
    position: { boot: 'boot', seq, hash: '0'.repeat(64) },
    earlier: [],
    gaps: 0,
    forks: 0,
    rewinds: 0,
    marked_ms: null,
    lost: 0,
    left_out: 0,
    received_ms: Math.max(nowMs, (before?.received_ms ?? 0) + 1),
  }
}

/** Every combination of the filters, over a day, a week and a month; common and rare values. */
function listQueries(nowMs: number): readonly string[] {
  const filters: readonly (readonly [string, readonly string[]])[] = [
    ['username', ['user-7', 'user-absent']],
    ['device_id', ['device-7']],
    ['decision', ['AUDIT_DECISION_DENY']],
    ['action_type', ['network_egress', 'filesystem_mount']],
    ['agent', [PROGRAMS[1]]],
    ['rule_id', [`rule_${'7'.padStart(28, '0')}`]],
    ['resource_id', ['service-77']],
    ['query', ['ice-1999', 'absent']],
  ]
  let combinations: readonly URLSearchParams[] = [new URLSearchParams()]
  for (const [name, values] of filters)
    combinations = combinations.flatMap((each) => [
      each,
      ...values.map((value) => new URLSearchParams([...each, [name, value]])),
    ])
  const spans = [1, 7, DAYS].map((days) => new Date(nowMs - days * DAY_MS).toISOString())
  return combinations.flatMap((each) =>
    spans.map((from) => new URLSearchParams([...each, ['from', from]]).toString()),
  )
}
