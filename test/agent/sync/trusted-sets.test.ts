import { TrustedMetadataStore } from 'tuf-js/dist/store.js'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { isSignature } from '../../../agent/src/sync/signature.ts'
import { createTrustedSets } from '../../../agent/src/sync/trusted-sets.ts'
import { createRepository, VIEW } from '../fixture/view-repository.ts'

const NOW_MS = Date.parse('2026-11-22T08:00:00Z')
const YEARS_MS = 3 * 365 * 24 * 60 * 60_000

describe('a set of trusted metadata', () => {
  // The library goes by the global clock.
  beforeEach(() => vi.useFakeTimers({ toFake: ['Date'], now: NOW_MS }))
  afterEach(() => void vi.useRealTimers())

  /** The files of a release, and how often the library was given a root to judge. */
  function setUp() {
    const { enrolment, release } = createRepository(undefined, { nowMs: NOW_MS })
    const files = release()
    const fileOf = (name: string) =>
      Buffer.from(files.get(`/api/v1/orgs/acme/views/${VIEW}/metadata/${name}`) ?? '')
    const judged: string[] = []
    class Counting extends TrustedMetadataStore {
      constructor(root: Buffer) {
        super(root)
        judged.push(root.toString())
      }
    }
    return { root: enrolment.root, fileOf, judged, Counting }
  }

  it('begins with a root that the library has judged once, and knows nothing of those before it', async () => {
    const { root, fileOf, judged, Counting } = setUp()
    const sets = createTrustedSets(isSignature, async () => ({ TrustedMetadataStore: Counting }))

    for (let round = 0; round < 3; round += 1) {
      const set = await sets.begin(root)
      expect([set.timestamp, set.snapshot, set.targets]).toEqual([undefined, undefined, undefined])
      // Of the same version each time, which a set refuses that has it already.
      expect(set.updateTimestamp(fileOf('timestamp.json')).signed.version).toBe(1)
      expect(set.updateSnapshot(fileOf('1.snapshot.json')).signed.version).toBe(1)
      expect(() => set.updateTimestamp(fileOf('timestamp.json'))).toThrow('after snapshot')
    }

    expect(judged).toEqual([root])
  })

  it('refuses another root after it, however little of it is another', async () => {
    const { root } = setUp()
    const sets = createTrustedSets(isSignature)
    await sets.begin(root)

    const other = root.replace(/"sig":"../, '"sig":"00')
    expect(other).not.toBe(root)
    await expect(sets.begin(other)).rejects.toThrow('was signed by 0/1 keys')
    await expect(sets.begin(root.replace('"x-org":"acme"', '"x-org":"evil"'))).rejects.toThrow(
      'was signed by 0/1 keys',
    )
    await expect(sets.begin('{}')).rejects.toThrow('signed is not defined')

    expect((await sets.begin(root)).root.signed.version).toBe(1)
  })

  it('refuses what somebody else has signed, as often as the root was begun with', async () => {
    const { root, fileOf } = setUp()
    const sets = createTrustedSets(isSignature)
    const damaged = Buffer.from(
      fileOf('timestamp.json')
        .toString()
        .replace(/"sig":"../, '"sig":"00'),
    )

    for (let round = 0; round < 3; round += 1) {
      const set = await sets.begin(root)
      expect(() => set.updateTimestamp(damaged)).toThrow('was signed by 0/1 keys')
      expect(set.updateTimestamp(fileOf('timestamp.json')).signed.version).toBe(1)
    }
  })

  it('judges by the time at which it was begun, and not by that of the root', async () => {
    const { root, fileOf } = setUp()
    const sets = createTrustedSets(isSignature)
    expect((await sets.begin(root)).updateTimestamp(fileOf('timestamp.json'))).toBeDefined()

    vi.setSystemTime(NOW_MS + YEARS_MS)
    const later = await sets.begin(root)

    expect(() => later.updateTimestamp(fileOf('timestamp.json'))).toThrow('expired')
  })

  it('is made by the library itself where that keeps more than is known of it', async () => {
    const { root, fileOf, judged, Counting } = setUp()
    class More extends Counting {
      more = 1
    }
    const sets = createTrustedSets(isSignature, async () => ({ TrustedMetadataStore: More }))

    for (let round = 0; round < 2; round += 1) {
      const set = await sets.begin(root)
      expect(set).toHaveProperty('more', 1)
      expect(set.updateTimestamp(fileOf('timestamp.json')).signed.version).toBe(1)
    }

    expect(judged.length).toBeGreaterThan(1)
  })

  it('can be begun after the library could not be loaded', async () => {
    const { root } = setUp()
    let failures = 1
    const sets = createTrustedSets(isSignature, async () => {
      if (failures-- > 0) throw new Error('EMFILE')
      return { TrustedMetadataStore }
    })

    await expect(sets.begin(root)).rejects.toThrow('EMFILE')

    expect((await sets.begin(root)).root.signed.version).toBe(1)
  })
})
