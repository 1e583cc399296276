import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { IngestRow, IngestShape } from '../evidence/ingest-row.ts'

const PROCESS = join(import.meta.dirname, '../evidence/evidence-process.ts')

/** Measures each shape in a process of its own, on a new SQLite file. */
export async function measureEvidence(shapes: readonly IngestShape[]): Promise<IngestRow[]> {
  const rows: IngestRow[] = []
  for (const shape of shapes) {
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--conditions=palisade-source',
      PROCESS,
      JSON.stringify(shape),
    ])
    rows.push(...(JSON.parse(stdout) as IngestRow[]))
  }
  return rows
}
