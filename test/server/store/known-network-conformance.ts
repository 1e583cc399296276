import { describe, expect, it } from 'vitest'
import type { Store } from '../../../server/src/store/store.ts'

const at = (minute: number) => new Date(Date.UTC(2026, 10, 21, 8, minute)).toISOString()

/** Guarantees of every driver for known networks; `store` holds the seed of `describeStore`. */
export function describeKnownNetworks(store: () => Store): void {
  describe('known networks', () => {
    const note = (network: string, minute: number, username = 'ann') =>
      store().transaction((writer) => writer.knownNetworks.note(username, network, at(minute)))
    const seenAt = (network: string, username = 'ann') =>
      store().read((reader) => reader.knownNetworks.seenAt(username, network))

    it('belong to one user, with the time of their last note', async () => {
      await note('192.0.2.1', 1)
      await note('192.0.2.1', 2)

      expect(await seenAt('192.0.2.1')).toBe(at(2))
      expect(await seenAt('192.0.2.2')).toBeNull()
      expect(await seenAt('192.0.2.1', 'bob')).toBeNull()
    })

    it('are limited to the newest sixteen of each user', async () => {
      for (let minute = 0; minute < 17; minute += 1) await note(`192.0.2.${minute}`, minute)

      expect(await seenAt('192.0.2.0')).toBeNull()
      expect(await seenAt('192.0.2.1')).toBe(at(1))
      expect(await seenAt('192.0.2.16')).toBe(at(16))
    })

    it('are deleted together, without a new generation', async () => {
      const before = store().generation()
      await note('192.0.2.1', 1)
      await store().transaction((writer) => writer.knownNetworks.forget('ann'))

      expect(await seenAt('192.0.2.1')).toBeNull()
      expect(store().generation()).toBe(before)
    })
  })
}
