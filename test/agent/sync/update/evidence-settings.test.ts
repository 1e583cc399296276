import { DEFAULT_EVIDENCE_SETTINGS } from '@palisade/protocol'
import { describe, expect, it } from 'vitest'
import { inForce, policies } from '../../fixture/sync-scene.ts'

const FULL = { ...DEFAULT_EVIDENCE_SETTINGS, upload: 'full' } as const

describe('signed settings of uploads', () => {
  it('come into force with the policies, and end with them', async () => {
    const scene = await inForce()
    const read = () => scene.active.current()?.bundle.settings.evidence
    const release = (settings: object, revision: number) =>
      scene.sync(scene.repository.release({ policies, revision, settings }))
    expect(read()).toBe(undefined)

    expect(await release({ evidence: FULL }, 8)).toMatchObject({ outcome: 'updated' })
    expect(read()).toEqual(FULL)
    expect(await release({}, 9)).toMatchObject({ outcome: 'updated' })
    expect(read()).toBe(undefined)
  })

  it.each([
    ['a mode', { ...FULL, upload: 'everything' }],
    ['a member', { ...FULL, urls: true }],
    ['a number', { ...FULL, path_depth: -1 }],
    ['a value', 'full'],
  ])('with %s that this version cannot read upload nothing', async (_title, evidence) => {
    const scene = await inForce()

    const outcome = await scene.sync(
      scene.repository.release({ policies, revision: 8, settings: { evidence } }),
    )

    expect(outcome).toMatchObject({ outcome: 'updated', error: null })
    expect(scene.active.current()?.bundle.revision).toBe(8)
    expect(scene.active.current()?.bundle.settings.evidence).toBe(undefined)
  })

  it('are no part of the digest, which names the policies that a machine enforces', async () => {
    const scene = await inForce()
    const digest = async (settings: object): Promise<string | undefined> => {
      await scene.sync(scene.repository.release({ policies, revision: 8, settings }))
      return scene.active.current()?.bundle.digest
    }

    expect(await digest({ evidence: FULL })).toBe(await digest({}))
  })
})
