import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { EvidenceStore } from '../../../../server/src/evidence/store/evidence-store.ts'
import { openPostgresEvidence } from '../../../../server/src/evidence/store/postgres/open-postgres-evidence.ts'
import type { BorrowedDatabase } from '../../postgres/database-pool.ts'
import { hasPostgres, testDatabase } from '../../postgres/test-postgres.ts'
import {
  appendRows,
  batch,
  chain,
  DAY_MS,
  listAll,
  NOW_MS,
  row,
  TODAY,
} from './evidence-batches.ts'

describe.skipIf(!hasPostgres())('the partitions of PostgreSQL', () => {
  let database: BorrowedDatabase
  let one: EvidenceStore
  let other: EvidenceStore

  beforeEach(async () => {
    database = await testDatabase()
    await database.administer('DROP SCHEMA IF EXISTS palisade_evidence CASCADE')
    const { url } = database
    // Both make the schema at once.
    ;[one, other] = await Promise.all([openPostgresEvidence(url), openPostgresEvidence(url)])
    onTestFinished(async () => {
      await Promise.all([one.close(), other.close()])
    })
  })

  const partitions = async () =>
    (
      await database.administer<{ name: string }>(
        `SELECT inhrelid::regclass::text AS name FROM pg_inherits
         WHERE inhparent = 'palisade_evidence.records'::regclass ORDER BY 1`,
      )
    ).map(({ name }) => name.replace('palisade_evidence.', ''))

  it('are made for each day once, by several servers at the same time', async () => {
    const rows = [0, 1, 2].map((age) => row({ last_ms: NOW_MS - age * DAY_MS }))

    await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        (index % 2 === 0 ? one : other).append(batch({ device_id: `dev_${index}`, rows })),
      ),
    )

    expect(await partitions()).toEqual([
      `records_${TODAY - 2}`,
      `records_${TODAY - 1}`,
      `records_${TODAY}`,
      'records_other',
    ])
    expect(await listAll(other)).toHaveLength(36)
  })

  it('of old days are dropped, and their rows are gone for every server', async () => {
    await appendRows(
      one,
      [0, 5].map((age) => row({ last_ms: NOW_MS - age * DAY_MS })),
    )

    expect(await other.dropBefore(TODAY - 1)).toBe(1)

    expect(await partitions()).toEqual([`records_${TODAY}`, 'records_other'])
    expect(await listAll(one)).toHaveLength(1)
    await appendRows(one, [row({ last_ms: NOW_MS - 5 * DAY_MS })])
    expect(await partitions()).toContain(`records_${TODAY - 5}`)
  })

  it('take the rows of a clock ahead once their day comes, and not before', async () => {
    const ahead = Array.from({ length: 300 }, (_, index) =>
      row({ last_ms: NOW_MS + (index + 5) * DAY_MS }),
    )
    await appendRows(one, ahead)
    expect(await partitions()).toEqual(['records_other'])

    const day = TODAY + 5
    const received_ms = day * DAY_MS + 1000
    await other.append(
      batch({
        device_id: 'dev_2',
        rows: [row({ last_ms: received_ms })],
        chain: chain(1, { received_ms }),
      }),
    )

    expect(await partitions()).toEqual([`records_${day}`, 'records_other'])
    expect(await listAll(one)).toHaveLength(301)
    expect(await one.dropBefore(day + 1)).toBe(2)
    expect(await listAll(one)).toHaveLength(299)
  })
})
