import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createEvidenceRetention } from '../../../server/src/evidence/evidence-retention.ts'
import { openSqliteEvidence } from '../../../server/src/evidence/store/sqlite/open-sqlite-evidence.ts'
import { temporaryDirectory } from '../temporary-directory.ts'
import { batch, DAY_MS, NOW_MS, row, TODAY } from './store/evidence-batches.ts'

const HOUR_MS = 60 * 60 * 1000

/** Evidence of today and the three days before, and a retention of so many days. */
async function open(days: number) {
  const evidence = openSqliteEvidence(join(temporaryDirectory(), 'evidence.db'))
  onTestFinished(() => evidence.close())
  const rows = [0, 1, 2, 3].map((age) => row({ last_ms: NOW_MS - age * DAY_MS }))
  await evidence.append(batch({ rows }))
  const lines: unknown[] = []
  const note = (line: unknown): unknown => lines.push(line)
  const retention = createEvidenceRetention({
    evidence,
    days,
    now: () => new Date(NOW_MS),
    log: { info: note, error: note },
  })
  return { evidence, retention, lines }
}

describe('the retention of evidence', () => {
  it('removes the days before the last ones, and says how many records', async () => {
    const { evidence, retention, lines } = await open(2)

    await retention.dropDue()
    await retention.dropDue()

    expect((await evidence.days()).map(({ day }) => day)).toEqual([TODAY - 2, TODAY - 1, TODAY])
    expect(lines).toEqual([{ removed: 1, days: 2 }])
  })

  it('of zero days keeps everything', async () => {
    const { evidence, retention, lines } = await open(0)

    await retention.dropDue()

    expect(await evidence.days()).toHaveLength(4)
    expect(lines).toEqual([])
  })

  it('runs an hour after its start, and logs a failure', async () => {
    const failure = new Error('the disk is away')
    const logged = Promise.withResolvers<unknown>()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    const retention = createEvidenceRetention({
      evidence: { dropBefore: () => Promise.reject(failure), dropUnexported: async () => 0 },
      days: 1,
      now: () => new Date(NOW_MS),
      log: { info: () => undefined, error: (line: unknown) => logged.resolve(line) },
    })
    retention.start()

    vi.advanceTimersByTime(HOUR_MS)

    expect(await logged.promise).toEqual({ err: failure })
    await retention.stop()
  })
})
