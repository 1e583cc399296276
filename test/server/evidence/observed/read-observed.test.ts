import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  readObserved,
  type ObservedBounds,
  type ObservedProgress,
} from '../../../../server/src/evidence/observed/read-observed.ts'
import type { EvidenceStore } from '../../../../server/src/evidence/store/evidence-store.ts'
import { openSqliteEvidence } from '../../../../server/src/evidence/store/sqlite/open-sqlite-evidence.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'
import { appendRows, DAY_MS, NOW_MS, row } from '../store/evidence-batches.ts'

const TIME = { fromMs: NOW_MS - DAY_MS, toMs: NOW_MS + 1 }
/** Sandboxes that a machine names in turn. */
const SANDBOXES = 4

describe('the bounds of observed requests', () => {
  let evidence: EvidenceStore

  beforeEach(async () => {
    evidence = openSqliteEvidence(join(temporaryDirectory(), 'evidence.db'))
    const rows = Array.from({ length: 20 }, (_, index) =>
      row({
        session: `box-${index % SANDBOXES}`,
        last_ms: NOW_MS - index * 60_000,
        decisions: 10,
        tuple: { host: `h${index % 5}.example` },
      }),
    )
    await appendRows(evidence, rows)
    await appendRows(evidence, rows, { device_id: 'dev_2' })
  })

  /** The yielded decisions, those left out, and the sources that were looked up. */
  const read = async (bounds: ObservedBounds) => {
    const read = { decisions: 0, leftOut: 0, lookups: 0 }
    const store: Pick<EvidenceStore, 'sources' | 'tally' | 'tuples'> = {
      tally: (...call) => evidence.tally(...call),
      tuples: (ids) => evidence.tuples(ids),
      sources(ids) {
        read.lookups += ids.length
        return evidence.sources(ids)
      },
    }
    const onProgress = ({ leftOut }: ObservedProgress): void => void (read.leftOut = leftOut)
    for await (const requests of readObserved(store, 'acme', TIME, { bounds, onProgress }))
      for (const { sightings } of requests)
        for (const { decisions } of sightings) read.decisions += decisions
    return read
  }

  it('leave out decisions, which are counted', async () => {
    const { decisions, leftOut } = await read({ records: 7, sightings: 3 })

    expect(leftOut).toBeGreaterThan(0)
    expect(decisions + leftOut).toBe(400)
    expect(await read({ records: 7, sightings: 10 })).toMatchObject({ decisions: 400, leftOut: 0 })
  })

  it('never hold a question, which is no request', async () => {
    await appendRows(evidence, [row({ decisions: 1_000, tuple: { point: 'local_api' } })])

    expect(await read({ records: 7, sightings: 100 })).toMatchObject({ decisions: 400 })
  })

  it('hold for the sources that are kept, which a machine can name without end', async () => {
    const kept = await read({ records: 2, sightings: 100 })
    const lookedUpAgain = await read({ records: 2, sightings: 2 * SANDBOXES - 1 })

    expect(kept.lookups).toBe(2 * SANDBOXES)
    expect(lookedUpAgain.lookups).toBeGreaterThan(2 * SANDBOXES)
  })
})
