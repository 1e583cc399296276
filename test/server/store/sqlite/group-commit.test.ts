import Sqlite, { type Database } from 'better-sqlite3'
import { fc, test } from '@fast-check/vitest'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import {
  createGroupCommit,
  type GroupBounds,
  type GroupCommit,
} from '../../../../server/src/store/sqlite/group-commit.ts'
import { createMemberWrites } from '../../../../server/src/store/sqlite/member-writes.ts'
import { createSqliteConnection } from '../../../../server/src/store/sqlite/sqlite-connection.ts'
import type { Connection, Statement } from '../../../../server/src/store/sql/connection.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'

const CASES = Number(process.env['PALISADE_CASES'] ?? 60)

describe('a group commit', () => {
  let database: Database
  let groups: GroupCommit
  let commits: number
  let end: string | null
  let connection: Connection
  let statement: Statement<unknown>
  let select: Statement<unknown>
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
    const member = createMemberWrites(database)
    connection = createSqliteConnection(database, member)
    statement = connection.prepare('INSERT INTO numbers VALUES (?)')
    select = connection.prepare('SELECT n FROM numbers ORDER BY n')
    groups = createGroupCommit(
      database,
      {
        member,
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
  const insertLater = (n: number): Promise<void> => statement.later(n)
  const stored = (): number[] =>
    database.prepare<[], number>('SELECT n FROM numbers ORDER BY n').pluck().all()
  const outcomes = async (attempts: readonly Promise<unknown>[]) =>
    (await Promise.allSettled(attempts)).map(({ status }) => status)

  it('makes all that arrive together durable with one commit', async () => {
    const answers = await Promise.all([1, 2, 3].map((n) => groups.run(() => insert(n))))

    expect(answers).toEqual([1, 2, 3])
    expect(stored()).toEqual([1, 2, 3])
    expect(commits).toBe(1)
  })

  it('tells nobody before the commit', async () => {
    const seen: number[] = []
    const attempts = [1, 2].map((n) => groups.run(() => insert(n)).then(() => seen.push(commits)))
    const failing = groups
      .run(() => Promise.reject(new Error('stop')))
      .catch(() => seen.push(commits))

    await Promise.all([...attempts, failing])

    expect(seen).toEqual([1, 1, 1])
  })

  it('undoes one member alone, also after it has written', async () => {
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

  it('shows a member what the members before it wrote', async () => {
    const [, second] = await Promise.all([
      groups.run(() => insert(1)),
      groups.run(async () => stored()),
    ])

    expect(second).toEqual([1])
  })

  it('writes what can wait before the commit, and undoes it with its member', async () => {
    const attempts = [1, 2, 3].map((n) =>
      groups.run(async () => {
        await insertLater(n)
        if (n === 2) throw new Error('stop')
      }),
    )

    expect(await outcomes(attempts)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(stored()).toEqual([1, 3])
    expect(commits).toBe(1)
  })

  it('shows a member what waits of those before it, and its own', async () => {
    const [, seen] = await Promise.all([
      groups.run(() => insertLater(1)),
      groups.run(async () => {
        await insertLater(2)
        return select.all()
      }),
    ])

    expect(seen).toEqual([{ n: 1 }, { n: 2 }])
  })

  it('undoes what waited and was written for a member to see, and nothing of others', async () => {
    const attempts = [
      groups.run(() => insertLater(1)),
      groups.run(async () => {
        await insertLater(2)
        await insert(3)
        await insertLater(4)
        throw new Error('stop')
      }),
      groups.run(() => insertLater(5)),
    ]

    expect(await outcomes(attempts)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(stored()).toEqual([1, 5])
  })

  it('writes of what replaces itself the newest alone, in one group and for each key', async () => {
    await Promise.all([
      groups.run(() => statement.latest('a', 1)),
      groups.run(async () => {
        await statement.latest('a', 2)
        await statement.latest('b', 3)
      }),
      groups.run(() => statement.latest('a', 4)),
    ])
    await groups.run(() => statement.latest('a', 5))

    expect(stored()).toEqual([3, 4, 5])
  })

  it('keeps what a member replaced that was undone, and what was written for another to see', async () => {
    const attempts = [
      groups.run(() => statement.latest('a', 1)),
      groups.run(async () => {
        await statement.latest('a', 2)
        throw new Error('stop')
      }),
      groups.run(() => select.all()),
      groups.run(() => statement.latest('a', 3)),
    ]

    expect(await outcomes(attempts)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
    expect(await attempts[2]).toEqual([{ n: 1 }])
    expect(stored()).toEqual([1, 3])
  })

  it('never takes one statement for another, whatever the key', async () => {
    const negative = connection.prepare('INSERT INTO numbers VALUES (-?)')

    await Promise.all([
      groups.run(() => statement.latest('a', 1)),
      groups.run(() => negative.latest('a', 1)),
      groups.run(() => statement.latest('__proto__', 2)),
    ])

    expect(stored()).toEqual([-1, 1, 2])
  })

  it('counts what was replaced no longer as waiting', async () => {
    open({ members: 64, ms: 60_000, sliceMs: 60_000 })
    database.exec('CREATE TABLE texts (text TEXT NOT NULL) STRICT')
    const text = connection.prepare('INSERT INTO texts VALUES (?)')

    await Promise.all(
      Array.from({ length: 12 }, () => groups.run(() => text.latest('a', 'x'.repeat(1024 * 1024)))),
    )

    expect(database.prepare('SELECT count(*) FROM texts').pluck().get()).toBe(1)
  })

  it.each(['at the end', 'when another member looks'])(
    'fails all of its members when what waits of one that was kept cannot be written %s',
    async (when) => {
      const attempts = [
        groups.run(() => insertLater(1)),
        groups.run(() => insertLater(1)),
        groups.run(async () => {
          if (when === 'when another member looks') await select.all().catch(() => [])
        }),
        groups.run(() => insert(2)),
      ]

      expect(new Set(await outcomes(attempts))).toEqual(new Set(['rejected']))
      await expect(attempts[0]).rejects.toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' })
      expect(stored()).toEqual([])
      await groups.run(() => insertLater(3))
      expect(stored()).toEqual([3])
    },
  )

  it('holds no more than a bounded length until the end', async () => {
    // One group, however slow the disk is.
    open({ members: 64, ms: 60_000, sliceMs: 60_000 })
    database.exec('CREATE TABLE texts (text TEXT NOT NULL) STRICT')
    const text = connection.prepare('INSERT INTO texts VALUES (?)')
    const written = (): unknown => database.prepare('SELECT count(*) FROM texts').pluck().get()
    const seen: unknown[] = []

    await Promise.all(
      Array.from({ length: 12 }, () =>
        groups.run(async () => {
          seen.push(written())
          await text.later('x'.repeat(1024 * 1024))
        }),
      ),
    )

    expect(seen).toEqual([0, 0, 0, 0, 0, 5, 5, 5, 5, 5, 10, 10])
    expect(written()).toBe(12)
  })

  it('fails as a whole when what a member alone has left is too long to wait and cannot be written', async () => {
    database.exec('CREATE TABLE texts (text TEXT NOT NULL CHECK (length(text) < 9)) STRICT')
    const text = connection.prepare('INSERT INTO texts VALUES (?)')

    const alone = groups.run(() => text.later('x'.repeat(5 * 1024 * 1024)))

    // Its work is done and remembered: undone by itself it would be remembered on.
    await expect(alone).rejects.toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' })
    expect(end).toBe('failed')
    expect(await groups.run(() => insert(1))).toBe(1)
    expect(stored()).toEqual([1])
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

  it('fails all of its members when SQLite gives the transaction up', async () => {
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

  it('fails only the first when the lock cannot be had, and tries again for the next', async () => {
    busy = new Error('busy')
    const first = groups.run(() => insert(1))
    const second = groups.run(() => insert(2))

    await expect(first).rejects.toBe(busy)
    busy = null

    expect(await second).toBe(2)
    expect(stored()).toEqual([2])
  })

  it('has a bound, so that many take several commits, in the order of arrival', async () => {
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

  it('lets others have their turns, and makes all durable with one commit all the same', async () => {
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

  it('waits a turn for those who are about to arrive', async () => {
    const second = Promise.withResolvers<number>()
    await groups.run(async () => {
      setImmediate(() => second.resolve(groups.run(() => insert(2))))
      await insert(1)
    })

    expect(commits).toBe(1)
    expect(await second.promise).toBe(2)
    expect(stored()).toEqual([1, 2])
  })

  it('takes no more when its time is over', async () => {
    open({ members: 64, ms: 0, sliceMs: 0 })

    await Promise.all([1, 2, 3].map((n) => groups.run(() => insert(n))))

    expect(commits).toBe(3)
    database.close()
  })

  it('is drained when everything that had arrived is through', async () => {
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
          /** How many others, which nobody else writes, it leaves for later before and after these. */
          later: fc.tuple(fc.nat({ max: 2 }), fc.nat({ max: 2 })),
          fails: fc.boolean(),
          pauses: fc.boolean(),
        }),
        { minLength: 1, maxLength: 20 },
      ),
    ],
    { numRuns: CASES },
  )('does what one after the other would have done', async (members) => {
    open()
    const expected = new Set<number>()
    const ownOf = (index: number, place: number, count: number): number[] =>
      Array.from({ length: count }, (_, n) => 1000 + index * 10 + place * 5 + n)
    const expectedOutcomes = members.map(({ numbers, later, fails }, index) => {
      const conflicts = numbers.some((n, at) => expected.has(n) || numbers.indexOf(n) !== at)
      if (conflicts || fails) return 'rejected'
      const own = later.flatMap((count, place) => ownOf(index, place, count))
      for (const n of [...numbers, ...own]) expected.add(n)
      return 'fulfilled'
    })

    const attempts = members.map(({ numbers, later: [before, after], fails, pauses }, index) =>
      groups.run(async () => {
        for (const n of ownOf(index, 0, before)) await insertLater(n)
        for (const n of numbers) await insert(n)
        for (const n of ownOf(index, 1, after)) await insertLater(n)
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
