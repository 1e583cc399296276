import { describe, expect, it, onTestFinished } from 'vitest'
import { nextTurn } from '../../../server/src/platform/next-turn.ts'
import type { Store, StoreWriter } from '../../../server/src/store/store.ts'
import { enrolmentToken } from './credential-records.ts'
import type { OpenStore } from './open-again.ts'

const NOW = '2026-11-21T08:00:00.000Z'

/** Guarantees of every driver to concurrent processes, here several openings. */
export function describeConcurrency(store: () => Store, open: () => OpenStore): void {
  const policy = (id: string) => ({
    id,
    org: 'acme',
    name: id,
    teams: [],
    created_at: NOW,
    updated_at: NOW,
  })

  async function three(): Promise<Store[]> {
    const stores = [store(), await open()(), await open()()]
    for (const opened of stores.slice(1)) onTestFinished(() => opened.close())
    return stores
  }

  /** `times` pieces of work, spread over three openings. */
  async function race(
    times: number,
    work: (writer: StoreWriter, index: number) => Promise<unknown>,
  ): Promise<PromiseSettledResult<unknown>[]> {
    const stores = await three()
    return Promise.allSettled(
      Array.from({ length: times }, async (_, index) =>
        stores[index % stores.length]?.transaction((writer) => work(writer, index)),
      ),
    )
  }

  describe('several openings at once', () => {
    it('never exceed a limit that they check', async () => {
      const outcomes = await race(18, async (writer, index) => {
        if ((await writer.policies.count('acme')) >= 5) throw new Error('full')
        await writer.policies.insert(policy(`pol_${index}`))
      })

      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(5)
      expect(await store().read((reader) => reader.policies.count('acme'))).toBe(5)
    })

    it('use an enrolment token up to its limit', async () => {
      await store().transaction((writer) => writer.enrolmentTokens.insert(enrolmentToken('e1', 4)))

      const outcomes = await race(15, async (writer) => {
        const token = await writer.enrolmentTokens.use('e1', NOW)
        if (token === null) throw new Error('used up')
        return token.uses
      })

      const uses = outcomes.flatMap((outcome) =>
        outcome.status === 'fulfilled' ? [outcome.value] : [],
      )
      expect(new Set(uses)).toEqual(new Set([1, 2, 3, 4]))
      const [kept] = await store().read((reader) => reader.enrolmentTokens.list('acme'))
      expect(kept).toEqual({ ...enrolmentToken('e1', 4), uses: 4, last_used_at: NOW })
    })

    it('give a name to only one', async () => {
      const outcomes = await race(9, (writer, index) =>
        writer.policies.insert({ ...policy(`pol_${index}`), name: 'wanted' }),
      )

      const refused = outcomes.filter(({ status }) => status === 'rejected')
      expect(refused).toHaveLength(8)
      for (const outcome of refused)
        expect(outcome).toMatchObject({ reason: { subject: 'policy_name' } })
    })

    it('lose no update that reads before it writes', async () => {
      await store().transaction((writer) =>
        writer.policies.insert({ ...policy('pol_1'), name: '0' }),
      )

      const outcomes = await race(18, async (writer) => {
        const found = await writer.policies.find('acme', 'pol_1')
        const name = String(Number(found?.name) + 1)
        await writer.policies.update({ ...policy('pol_1'), mode: undefined, name })
      })

      expect(outcomes.every(({ status }) => status === 'fulfilled')).toBe(true)
      const found = await store().read((reader) => reader.policies.find('acme', 'pol_1'))
      expect(found?.name).toBe('18')
    })

    it('never show readers half of a write', async () => {
      const stores = await three()
      const done = new AbortController()
      const readers = stores.flatMap((opened) =>
        Array.from({ length: 4 }, async () => {
          let reads = 0
          while (!done.signal.aborted) {
            const [first, second] = await opened.read(async (reader) => [
              await reader.policies.count('acme'),
              (await reader.policies.listWithRules('acme')).length,
            ])
            expect(first).toBe(second)
            expect((first ?? 1) % 2).toBe(0)
            reads += 1
            // Like requests. Promises alone would never yield to the writer.
            await nextTurn()
          }
          return reads
        }),
      )
      for (let index = 0; index < 5; index += 1)
        await stores[index % stores.length]?.transaction(async (writer) => {
          await writer.policies.insert(policy(`pol_${index}a`))
          await writer.policies.insert(policy(`pol_${index}b`))
        })
      done.abort()

      const reads = await Promise.all(readers)

      expect(Math.min(...reads)).toBeGreaterThan(0)
      expect(await store().read((reader) => reader.policies.count('acme'))).toBe(10)
    })
  })

  it('answers a read while others pause, each on its own snapshot', async () => {
    const pause = Promise.withResolvers<undefined>()
    const begun: Promise<unknown>[] = []
    const paused = Array.from({ length: 3 }, () => {
      const { promise, resolve } = Promise.withResolvers<undefined>()
      begun.push(promise)
      return store().read(async (reader) => {
        const before = await reader.policies.count('acme')
        resolve(undefined)
        await pause.promise
        return [before, await reader.policies.count('acme')]
      })
    })
    await Promise.all(begun)
    const generation = store().generation()

    await store().transaction((writer) => writer.policies.insert(policy('pol_1')))

    expect(await store().read((reader) => reader.policies.count('acme'))).toBe(1)
    expect(store().generation()).not.toBe(generation)
    pause.resolve(undefined)
    for (const counts of await Promise.all(paused)) expect(counts).toEqual([0, 0])
  })

  it('finds no row by a text that no row can contain', async () => {
    await store().read(async (reader) => {
      expect(await reader.organizations.find('ac\0me')).toBeNull()
      expect(await reader.policies.find('acme', '\0')).toBeNull()
      expect(await reader.users.find("ann'; --")).toBeNull()
    })
    await expect(
      store().transaction((writer) => writer.policies.delete('acme', 'pol\0')),
    ).rejects.toMatchObject({ code: expect.stringMatching(/NOT_FOUND|CONFLICT/) })
  })
}
