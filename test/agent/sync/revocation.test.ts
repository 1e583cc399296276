import { describe, expect, it } from 'vitest'
import { NOW_MS } from '../fixture/bundle.ts'
import { fileOf, grantOf } from '../fixture/grant.ts'
import type { PolicyServer } from '../fixture/policy-server.ts'
import { packBundle, type Served } from '../fixture/pack-bundle.ts'
import { HOUR_MS, inForce, never, policies, setUp, type Scene } from '../fixture/sync-scene.ts'

const MINUTE_MS = 60_000
const REFUSED_MS = NOW_MS + HOUR_MS

const answerWith =
  (status: number, headers: Record<string, string>, body: string): PolicyServer['answer'] =>
  (_request, response) =>
    response.writeHead(status, headers).end(body)
const JSON_TYPE = { 'content-type': 'application/json' }
const REFUSAL = answerWith(
  401,
  JSON_TYPE,
  JSON.stringify({ error: { code: 'unauthenticated', message: 'unknown key' } }),
)

/** A machine whose key was refused an hour after its policy came, and what the server had signed until then. */
async function revoked(): Promise<{ scene: Scene; recorded: Served }> {
  const scene = await inForce()
  const recorded = scene.repository.release({ policies, atMs: REFUSED_MS - MINUTE_MS })
  scene.setClock(REFUSED_MS)
  await refuse(scene)
  expect(scene.active.state()).toBe('revoked')
  return { scene, recorded }
}

async function refuse({ server, synchronizer }: Scene): Promise<void> {
  const { answerToken } = server
  server.answer = REFUSAL
  server.answerToken = REFUSAL
  await synchronizer.run(never)
  await synchronizer.run(never)
  server.answerToken = answerToken
}

/** After the policy has expired a grant is of use; it is refused. */
async function expectRevoked(scene: Scene): Promise<void> {
  const lateMs = NOW_MS + 8 * 24 * HOUR_MS
  for (const machine of [scene, await setUp(scene.directory, scene.repository, lateMs)]) {
    machine.setClock(lateMs)
    const grant = fileOf(grantOf(machine.repository.keys.targets, { atMs: lateMs }))
    expect(machine.active.state()).toBe('revoked')
    expect(await machine.breakGlass.begin(grant)).toMatchObject({ code: 'not_possible' })
  }
}

const PAGES: readonly (readonly [string, PolicyServer['answer']])[] = [
  ['a page of a hotel', answerWith(200, { 'content-type': 'text/html' }, 'Welcome')],
  ['a page that is called JSON', answerWith(200, JSON_TYPE, 'Welcome')],
  ['an empty object', answerWith(200, JSON_TYPE, '{}')],
  ['a redirect', answerWith(302, { location: 'http://127.0.0.1:1/' }, '')],
  ['304', answerWith(304, {}, '')],
  ['404', answerWith(404, JSON_TYPE, '{}')],
  ['503', answerWith(503, {}, '')],
]

describe('a revocation', () => {
  it.each(PAGES)('does not end with %s in place of a device token', async (_what, page) => {
    const { scene } = await revoked()
    scene.server.answerToken = page
    scene.server.answer = page

    await scene.synchronizer.run(never)

    await expectRevoked(scene)
  })

  it.each(PAGES)('does not end with %s in place of an update', async (_what, page) => {
    const { scene } = await revoked()
    scene.server.answer = page

    await scene.synchronizer.run(never)

    await expectRevoked(scene)
  })

  it('does not end with what was signed before it, also after a restart', async () => {
    const { scene, recorded } = await revoked()

    expect(await scene.sync(recorded)).toMatchObject({ error: null })
    await expectRevoked(scene)
    const restarted = await setUp(scene.directory, scene.repository, REFUSED_MS + MINUTE_MS)
    expect(await restarted.sync(recorded)).toMatchObject({ error: null })
    await expectRevoked(restarted)
  })

  it('does not end with a timestamp after it beside an assignment before it', async () => {
    const { scene } = await revoked()
    scene.setClock(REFUSED_MS + 2 * MINUTE_MS)
    const mixed = scene.repository.release({
      policies,
      atMs: REFUSED_MS + MINUTE_MS,
      assignedAtMs: REFUSED_MS - MINUTE_MS,
    })

    expect(await scene.sync(mixed)).toMatchObject({ error: null })

    await expectRevoked(scene)
  })

  it('does not end with a bundle file, which says nothing of the server', async () => {
    const { scene } = await revoked()
    scene.setClock(REFUSED_MS + MINUTE_MS)
    const after = scene.repository.release({ policies, atMs: REFUSED_MS + 1000 })

    expect(await scene.synchronizer.import([packBundle(after)], never)).toMatchObject({
      error: null,
    })

    await expectRevoked(scene)
  })

  it('ends with what is signed after it, and stays ended after a restart', async () => {
    const { scene } = await revoked()
    scene.setClock(REFUSED_MS + MINUTE_MS)
    const after = scene.repository.release({ policies, atMs: REFUSED_MS + 1000 })

    expect(await scene.sync(after)).toMatchObject({ error: null })

    expect(scene.active.state()).toBe('fresh')
    expect(scene.active.mayBreakGlass()).toBe(true)
    const restarted = await setUp(scene.directory, scene.repository, REFUSED_MS + MINUTE_MS)
    expect(restarted.active.state()).toBe('fresh')
  })

  it('asks for an assignment and a timestamp that are issued after it', async () => {
    const { scene, recorded } = await revoked()
    scene.server.requests.length = 0

    await scene.sync(recorded)

    const asked = scene.server.requests.find(({ url = '' }) => url.includes('/device/update'))
    expect(asked?.headers).toMatchObject({
      'palisade-assigned': String(REFUSED_MS / 1000 + 1),
      'palisade-issued-after': String(REFUSED_MS / 1000),
    })
  })

  it('ends although the clock was ahead by years at the refusal', async () => {
    const scene = await inForce()
    scene.setClock(NOW_MS + 10 * 365 * 24 * HOUR_MS)
    await refuse(scene)
    scene.setClock(REFUSED_MS)
    expect(scene.active.state()).toBe('revoked')

    const proof = scene.repository.release({ policies, atMs: REFUSED_MS })
    expect(await scene.sync(proof)).toMatchObject({ error: null })
    expect(scene.active.state()).toBe('revoked')
    scene.setClock(REFUSED_MS + MINUTE_MS)
    const after = scene.repository.release({ policies, atMs: REFUSED_MS + MINUTE_MS })
    expect(await scene.sync(after)).toMatchObject({ error: null })

    expect(scene.active.state()).toBe('fresh')
  })
})
