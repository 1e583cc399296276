import { describe, expect, it } from 'vitest'
import { createSynchronizer } from '../../../../agent/src/sync/update/synchronizer.ts'
import { formatCanonicalJson } from '../../../../server/src/history/canonical-json.ts'
import { packBundle, type Served } from '../../fixture/pack-bundle.ts'
import {
  expectKept,
  inForce,
  never,
  policies,
  setUp,
  type Scene,
} from '../../fixture/sync-scene.ts'
import { alter } from '../../fixture/view-repository.ts'

const UNREADABLE = ['yesterday', '', '2026-02-30T00:00:00Z', '99999-01-01T00:00:00Z', '+1']

/** Signs with the targets key, which only its holder can do. */
function signAgain({ repository }: Scene, text: string, change: object): string {
  const { signed } = JSON.parse(text) as { signed: object }
  const changed = { ...signed, ...change }
  const bytes = Buffer.from(formatCanonicalJson(changed))
  const { keyID, sig } = repository.keys.targets.signBytes(bytes)
  return JSON.stringify({ signatures: [{ keyid: keyID, sig }], signed: changed })
}

function withAssignment(scene: Scene, change: object): Served {
  const served = scene.repository.release({ policies, revision: 8 })
  return alter(served, /device\/view$/, (text) => signAgain(scene, text, change))
}

describe.each(['issued', 'expires'])('an assignment with an unreadable `%s`', (member) => {
  it.each(UNREADABLE)('is refused with a named fault for the value `%s`', async (value) => {
    const scene = await inForce()

    const fetched = await scene.sync(withAssignment(scene, { [member]: value }))
    const imported = await scene.synchronizer.import(
      [packBundle(withAssignment(scene, { [member]: value }))],
      never,
    )

    expect(fetched).toMatchObject({ outcome: 'failed', error: { code: 'malformed' } })
    expect(imported).toMatchObject({ outcome: 'failed', error: { code: 'malformed' } })
    expectKept(scene)
    expectKept(await setUp(scene.directory, scene.repository))
  })

  it('does not block a readable one', async () => {
    const scene = await inForce()
    await scene.sync(withAssignment(scene, { [member]: 'yesterday' }))

    expect(await scene.sync(withAssignment(scene, {}))).toMatchObject({ outcome: 'updated' })
  })
})

it.each(['expires_after_seconds', 'fresh_for_seconds'])(
  'a life beyond the calendar in `%s` is refused with a named fault',
  async (member) => {
    const scene = await inForce()
    const settings = { [member]: 2 ** 52 }

    const outcome = await scene.sync(scene.repository.release({ policies, revision: 8, settings }))

    expect(outcome).toMatchObject({ outcome: 'failed', error: { code: 'unsupported_policy' } })
  },
)

it('an exception in an attempt becomes its error and leaves the bundle in force', async () => {
  const scene = await inForce()
  const told: unknown[] = []
  const bug = new Error('a bug')
  const fail = async (): Promise<never> => {
    throw bug
  }
  const revocation = { keep: async () => {} }
  const { nowMs } = scene.surroundings
  const times = () => ({ nowMs, mendedMs: nowMs, issuedMs: nowMs })
  const channel = { fetch: fail, open: fail, revocation, times }
  const synchronizer = createSynchronizer({
    active: scene.active,
    channel: Object.assign(Object.create(null), channel),
    checkConflict: async () => {},
    org: 'acme',
    clock: () => scene.surroundings.nowMs,
    onError: (error) => told.push(error),
  })

  const fetched = await synchronizer.run(never)
  const imported = await synchronizer.import([], never)

  expect(fetched).toMatchObject({ outcome: 'failed', error: { code: 'internal' } })
  expect(imported).toMatchObject({ outcome: 'failed', error: { code: 'internal' } })
  expect(synchronizer.record().last_error).toMatchObject({
    code: 'internal',
    message: 'the agent failed: a bug; report this',
  })
  expect(told).toEqual([bug, bug])
  expect(scene.active.state()).toBe('fresh')
  expectKept(scene)
})
