import Sqlite from 'better-sqlite3'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { EvidenceTuple } from '../../../../server/src/evidence/store/evidence-record.ts'
import { EVIDENCE_MIGRATIONS } from '../../../../server/src/evidence/store/sql/evidence-schema.ts'
import { openSqliteEvidence } from '../../../../server/src/evidence/store/sqlite/open-sqlite-evidence.ts'
import { migrate } from '../../../../server/src/store/sqlite/migrate.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'
import { appendRows, batch, chain, NOW_MS, row, TODAY } from './evidence-batches.ts'
import { describeEvidence } from './evidence-conformance.ts'

describeEvidence('the SQLite evidence', () => {
  const path = join(temporaryDirectory(), 'evidence.db')
  return () => openSqliteEvidence(path)
})

describe('the SQLite evidence', () => {
  it('gives the room of removed evidence back to the disk', async () => {
    const path = join(temporaryDirectory(), 'evidence.db')
    const evidence = openSqliteEvidence(path)
    onTestFinished(() => evidence.close())
    const rows = Array.from({ length: 3_000 }, (_, index) =>
      row({ tuple: { host: `${'x'.repeat(200)}${index}.example` } }),
    )
    await appendRows(evidence, rows)
    await appendRows(evidence, [row()], { device_id: 'dev_2' })

    await evidence.dropOwned({ org: 'acme', deviceId: 'dev_1' })

    const files = [path, `${path}-wal`].map((file) => statSync(file).size)
    expect(files[0]).toBeLessThan(500_000)
    expect(files[1]).toBe(0)
    expect(await evidence.days()).toMatchObject([{ rows: 1 }])
  })

  it('books the records of an earlier release', async () => {
    const path = join(temporaryDirectory(), 'evidence.db')
    const earlier = new Sqlite(path)
    migrate(earlier, EVIDENCE_MIGRATIONS.slice(0, 4))
    earlier.exec(`INSERT INTO organizations (id, name, last_record) VALUES (1, 'acme', 2000);
      INSERT INTO days (org, day, records) VALUES (1, ${TODAY}, 1500), (1, ${TODAY - 9}, 500)`)
    earlier.close()
    const evidence = openSqliteEvidence(path)
    onTestFinished(() => evidence.close())
    const limits = { ofOrganization: 1_000_000, ofDeviceADay: Infinity }

    const before = await evidence.append(batch({ rows: [row()] }), limits)
    await evidence.dropBefore(TODAY)
    const next = batch({ rows: [row()], chain: chain(2), follows: NOW_MS + 1 })

    expect([before, await evidence.append(next, limits)]).toEqual(['organization_quota', null])
  })

  const rule = (part: number, index: number, policy_id = 'p') =>
    ({ policy_id, rule_id: `${part}/${index}`, decision: 'deny', origin: 'org' }) as const
  /** Ten different ones with a policy id that JSON escapes. */
  const escaped = (part: number, index: number) =>
    Array.from({ length: 10 }, (_, each) =>
      rule(part, index, `${'\u0001'.repeat(500)}${part}.${index}.${each}`.slice(0, 512)),
    )
  const onPath = (path: string) => ({ action: 'read', host: null, port: null, path }) as const
  it.each<readonly [string, number, (part: number, index: number) => Partial<EvidenceTuple>]>([
    [
      'long paths',
      500,
      (part, index) => ({
        ...onPath(`/${part}/${index}/${'p'.repeat(index)}`),
        program: `/bin/${index}`,
        rules: [rule(part, index)],
      }),
    ],
    ['escaped ids', 50, (part, index) => ({ rules: escaped(part, index) })],
    [
      'escaped ids of shadow rules',
      50,
      (part, index) => ({
        shadow: { decision: 'deny', reason: 'rule', rules: escaped(part, index) },
      }),
    ],
    ['replaced characters', 50, (part, index) => onPath(`/${part}/${index}/${'\0'.repeat(4000)}`)],
    [
      'letters that grow',
      50,
      (part, index) => onPath(`/${part}/${index}/${'\u023A'.repeat(4000)}`),
    ],
  ])('takes no more of the disk than it counts for %s', async (_title, rows, tupleOf) => {
    const path = join(temporaryDirectory(), 'evidence.db')
    const evidence = openSqliteEvidence(path)
    const limits = { ofOrganization: Infinity, ofDeviceADay: 8 * 1024 * 1024 }
    const rowsOf = (part: number) =>
      Array.from({ length: rows }, (_, index) =>
        row({
          session: `s${index}`,
          last_ms: NOW_MS - index,
          tuple: tupleOf(part, index),
        }),
      )
    let [follows, exceeded]: [number | null, string | null] = [null, null]
    for (let part = 1; exceeded === null; part += 1) {
      exceeded = await evidence.append(
        batch({ rows: rowsOf(part), chain: chain(part), follows }),
        limits,
      )
      follows = NOW_MS + part
    }
    await evidence.close()

    expect(statSync(path).size).toBeLessThan(limits.ofDeviceADay)
    expect(statSync(path).size).toBeGreaterThan(limits.ofDeviceADay / 4)
  })

  it('leaves turns to others while it reads a large batch for its export', async () => {
    const evidence = openSqliteEvidence(join(temporaryDirectory(), 'evidence.db'))
    onTestFinished(() => evidence.close())
    await evidence.setExporters(['otlp'])
    const hosts = Array.from({ length: 2_000 }, (_, index) => `${index}.example`)
    await appendRows(
      evidence,
      hosts.map((host) => row({ tuple: { host } })),
    )
    let turns = 0
    let next: NodeJS.Immediate
    const count = (): void => {
      turns += 1
      next = setImmediate(count)
    }
    next = setImmediate(count)
    const { rows } = await evidence.unexported('otlp', 2_000)
    clearImmediate(next)
    expect(rows.map(({ id }) => id)).toEqual(hosts.map((_, index) => index + 1))
    expect(turns).toBeGreaterThan(4)
  })
})
