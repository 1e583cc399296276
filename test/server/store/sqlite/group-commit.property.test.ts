import Sqlite, { type Database } from 'better-sqlite3'
import { fc, test } from '@fast-check/vitest'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import {
  createGroupCommit,
  type GroupBounds,
  type GroupCommit,
} from '../../../../server/src/store/sqlite/group-commit.ts'
import { createSqliteConnection } from '../../../../server/src/store/sqlite/sqlite-connection.ts'
import type { Statement } from '../../../../server/src/store/sql/connection.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'
import { casesOfRun } from '../../../lanes/run-size.ts'

const CASES = casesOfRun(60)

describe('a group commit', () => {
  let database: Database
  let groups: GroupCommit
  let commits: number
  let end: string | null
  let statement: Statement<unknown>
  let refusal: Error | null
  let busy: Error | null

  function open(bounds?: GroupBounds): void {
    database = new Sqlite(join(temporaryDirectory(), 'test.db'))
    database.pragma('journal_mode = WAL')
    database.exec('CREATE TABLE numbers (n INTEGER PRIMARY KEY) STRICT')
    commits = 0
    end = null
    refusal = null
    busy = null
    statement = createSqliteConnection(database).prepare('INSERT INTO numbers VALUES (?)')
    groups = createGroupCommit(
      database,
      {
        async begin() {
          if (busy !== null) throw busy
          database.exec('BEGIN IMMEDIATE')
        },
        beforeCommit() {
          if (refusal !== null) throw refusal
        },
        ended(how) {
          commits += 1
          end = how
        },
      },
      bounds,
    )
  }

  beforeEach(() => {
    open()
    onTestFinished(() => void database.close())
  })

  const insert = async (n: number): Promise<number> => {
    await statement.run(n)
    return n
  }
  const stored = (): number[] =>
    database.prepare<[], number>('SELECT n FROM numbers ORDER BY n').pluck().all()
  const outcomes = async (attempts: readonly Promise<unknown>[]) =>
    (await Promise.allSettled(attempts)).map(({ status }) => status)

  it('makes all members of a group durable with one commit', async () => {
    const answers = await Promise.all([1, 2, 3].map((n) => groups.run(() => insert(n))))

    expect(answers).toEqual([1, 2, 3])
    expect(stored()).toEqual([1, 2, 3])
    expect(commits).toBe(1)
  })

  it('resolves no member before the commit', async () => {
    const seen: number[] = []
    const attempts = [1, 2].map((n) => groups.run(() => insert(n)).then(() => seen.push(commits)))
    const failing = groups
      .run(() => Promise.reject(new Error('stop')))
      .catch(() => seen.push(commits))

    await Promise.all([...attempts, failing])

    expect(seen).toEqual([1, 1, 1])
  })

  it('rolls back a single member, even after it has written', async () => {
    const error = new Error('stop')
    const attempts = [1, 2, 3].map((n) =>
      groups.run(async () => {
        await insert(n)
        if (n === 2) throw error
      }),
    )

    expect(await outcomes(attempts)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    await expect(attempts[1]).rejects.toBe(error)
    expect(stored()).toEqual([1, 3])
  })

  it('shows a member the writes of earlier members', async () => {
    const [, second] = await Promise.all([
      groups.run(() => insert(1)),
      groups.run(async () => stored()),
    ])

    expect(second).toEqual([1])
  })

  it('fails all of its members when the commit fails, and none of the next group', async () => {
    refusal = new Error('gone')
    const first = [1, 2].map((n) => groups.run(() => insert(n)))
    expect(await outcomes(first)).toEqual(['rejected', 'rejected'])
    await expect(first[0]).rejects.toMatchObject({ code: 'ERR_STORE_UNAVAILABLE', cause: refusal })
    refusal = null

    await groups.run(() => insert(3))

    expect(stored()).toEqual([3])
  })

  it('fails all of its members when SQLite rolls the transaction back', async () => {
    const attempts = [
      groups.run(() => insert(1)),
      groups.run(async () => {
        database.exec('ROLLBACK')
        throw new Error('disk full')
      }),
      groups.run(() => insert(3)),
    ]

    expect(await outcomes(attempts)).toEqual(['rejected', 'rejected', 'fulfilled'])
    expect(stored()).toEqual([3])
  })

  it('fails all of its members when one hides a roll-back by SQLite', async () => {
    const attempts = [
      groups.run(() => insert(1)),
      groups.run(async () => void database.exec('ROLLBACK')),
    ]

    expect(await outcomes(attempts)).toEqual(['rejected', 'rejected'])
    await expect(attempts[0]).rejects.toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' })
    expect(end).toBe('failed')
    expect(await groups.run(() => insert(3))).toBe(3)
    expect(stored()).toEqual([3])
  })

  it('fails only the first without the lock, and retries for the next', async () => {
    busy = new Error('busy')
    const first = groups.run(() => insert(1))
    const second = groups.run(() => insert(2))

    await expect(first).rejects.toBe(busy)
    busy = null

    expect(await second).toBe(2)
    expect(stored()).toEqual([2])
  })

  it('has a maximum size, so that many take several commits, in order of arrival', async () => {
    const order: number[] = []
    const attempts = Array.from({ length: 150 }, (_, n) =>
      groups.run(async () => {
        order.push(n)
        await insert(n)
      }),
    )

    await Promise.all(attempts)

    expect(commits).toBeGreaterThanOrEqual(3)
    expect(order).toEqual(order.toSorted((a, b) => a - b))
    expect(stored()).toHaveLength(150)
  })

  it('yields to the event loop, and still makes all durable with one commit', async () => {
    open({ members: 64, ms: Number.POSITIVE_INFINITY, sliceMs: 0 })
    let turns = 0
    const seen: number[] = []
    const attempts = [1, 2, 3].map((n) =>
      groups.run(async () => {
        seen.push(turns)
        setImmediate(() => (turns += 1))
        await insert(n)
      }),
    )

    await Promise.all(attempts)

    expect(seen).toEqual([0, 1, 2])
    expect(commits).toBe(1)
    expect(stored()).toEqual([1, 2, 3])
    database.close()
  })

  it('waits a turn for members that are about to arrive', async () => {
    const second = Promise.withResolvers<number>()
    await groups.run(async () => {
      setImmediate(() => second.resolve(groups.run(() => insert(2))))
      await insert(1)
    })

    expect(commits).toBe(1)
    expect(await second.promise).toBe(2)
    expect(stored()).toEqual([1, 2])
  })

  it('admits no more members when its time is over', async () => {
    open({ members: 64, ms: 0, sliceMs: 0 })

    await Promise.all([1, 2, 3].map((n) => groups.run(() => insert(n))))

    expect(commits).toBe(3)
    database.close()
  })

  it('is drained when all earlier members are done', async () => {
    const attempts = [1, 2].map((n) => groups.run(() => insert(n)))

    await groups.drained()

    expect(stored()).toEqual([1, 2])
    await Promise.all(attempts)
  })

  test.prop(
    [
      fc.array(
        fc.record({
          numbers: fc.array(fc.integer({ min: 0, max: 12 }), { maxLength: 3 }),
          fails: fc.boolean(),
          pauses: fc.boolean(),
        }),
        { minLength: 1, maxLength: 20 },
      ),
    ],
    { numRuns: CASES },
  )('has the result of sequential transactions', async (members) => {
    open()
    const expected = new Set<number>()
    const expectedOutcomes = members.map(({ numbers, fails }) => {
      const conflicts = numbers.some((n, at) => expected.has(n) || numbers.indexOf(n) !== at)
      if (conflicts || fails) return 'rejected'
      for (const n of numbers) expected.add(n)
      return 'fulfilled'
    })

    const attempts = members.map(({ numbers, fails, pauses }) =>
      groups.run(async () => {
        for (const n of numbers) await insert(n)
        if (pauses) await Promise.resolve()
        if (fails) throw new Error('stop')
      }),
    )

    expect(await outcomes(attempts)).toEqual(expectedOutcomes)
    expect(stored()).toEqual([...expected].toSorted((a, b) => a - b))
    expect(database.inTransaction).toBe(false)
    database.close()
  })
})
