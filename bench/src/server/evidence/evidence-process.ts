import { MAX_PATH_DEPTH } from '../../../../packages/protocol/src/index.ts'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ingestBatch } from '../../../../server/src/evidence/ingest/ingest-service.ts'
import { readBatch } from '../../../../server/src/evidence/ingest/read-batch.ts'
import type { EvidenceStore } from '../../../../server/src/evidence/store/evidence-store.ts'
import { openSqliteEvidence } from '../../../../server/src/evidence/store/sqlite/open-sqlite-evidence.ts'
import { chooseAny, chooseEach, LINES, makeBatches, type MadeBatch } from './make-batches.ts'
import type { IngestRow, IngestShape } from './ingest-row.ts'

const NOON_MS = Date.parse('2026-11-20T12:00:00Z')
const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const SETTINGS = {
  upload: 'full',
  sample_percent: 100,
  path_depth: MAX_PATH_DEPTH,
  programs: true,
  users: true,
} as const

/** Measures one shape in this process, which has no other work, and prints the rows as JSON. */
const shape = JSON.parse(process.argv[2] ?? '') as IngestShape
const directory = mkdtempSync(join(tmpdir(), 'palisade-bench-evidence-'))
try {
  const evidence = openSqliteEvidence(join(directory, 'evidence.db'))
  process.stdout.write(`${JSON.stringify(await measurePhases(evidence, shape))}\n`)
  await evidence.close()
} finally {
  rmSync(directory, { recursive: true, force: true })
}

async function measurePhases(
  evidence: EvidenceStore,
  { devices, tuples }: IngestShape,
): Promise<IngestRow[]> {
  const rows: IngestRow[] = []
  const phases = [
    { name: 'new targets', atMs: NOON_MS, choose: chooseEach(tuples) },
    { name: 'known targets', atMs: NOON_MS + MINUTE_MS, choose: chooseAny(1, tuples) },
    { name: 'the next day', atMs: NOON_MS + DAY_MS, choose: chooseAny(2, tuples) },
    {
      name: 'known targets, again',
      atMs: NOON_MS + DAY_MS + MINUTE_MS,
      choose: chooseAny(3, tuples),
    },
  ]
  for (const { name, atMs, choose } of phases) {
    const batches = makeBatches(devices, choose, atMs)
    const parsedUs = await cpuUsEach(batches, async ({ lines }) => {
      for (const line of lines) JSON.parse(line)
    })
    const readUs = await cpuUsEach(batches, async ({ body }) => void (await readBatch(body)))
    const ingestedUs = await cpuUsEach(batches, async ({ body, deviceId }) => {
      const sender = { org: 'acme', deviceId, username: 'alice', settings: SETTINGS }
      await ingestBatch(body, sender, atMs, { evidence })
    })
    rows.push({ name, tuples, parsed_us: parsedUs, read_us: readUs, ingested_us: ingestedUs })
  }
  return rows
}

/** Microseconds of processor time a record, of all threads. */
async function cpuUsEach(
  batches: readonly MadeBatch[],
  work: (batch: MadeBatch) => Promise<void>,
): Promise<number> {
  const before = process.cpuUsage()
  for (const batch of batches) await work(batch)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / (batches.length * LINES)
}
