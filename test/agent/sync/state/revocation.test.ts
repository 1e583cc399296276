import { nonceSchema } from '@palisade/protocol'
import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { NOW_MS } from '../../fixture/bundle.ts'
import { fileOf, grantOf } from '../../fixture/grant.ts'
import { refuseKey, type PolicyServer } from '../../fixture/policy-server.ts'
import { packBundle, type Served } from '../../fixture/pack-bundle.ts'
import { HOUR_MS, inForce, never, policies, setUp, type Scene } from '../../fixture/sync-scene.ts'
import { alter, serve } from '../../fixture/view-repository.ts'

const MINUTE_MS = 60_000
const REFUSED_MS = NOW_MS + HOUR_MS

const answerWith =
  (status: number, headers: Record<string, string>, body: string): PolicyServer['answer'] =>
  (_request, response) =>
    response.writeHead(status, headers).end(body)
const JSON_TYPE = { 'content-type': 'application/json' }

/**
 * A machine whose key was refused an hour after its policy arrived, and the release signed before
 * that.
 */
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
  server.answer = refuseKey
  server.answerToken = refuseKey
  await synchronizer.run(never)
  await synchronizer.run(never)
  server.answerToken = answerToken
}

/** After the expiry of the policy a grant would help; it is refused. */
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

  it('does not end with earlier files, even if dated later or sent after a restart', async () => {
    const { scene, recorded } = await revoked()

    expect(await scene.sync(recorded)).toMatchObject({ error: null })
    const assignedAtMs = REFUSED_MS + 5 * MINUTE_MS
    const ahead = scene.repository.release({ policies, atMs: REFUSED_MS + 1000, assignedAtMs })
    expect(await scene.sync(ahead)).toMatchObject({ error: null })
    await expectRevoked(scene)
    const restarted = await setUp(scene.directory, scene.repository, REFUSED_MS + MINUTE_MS)
    expect(await restarted.sync(ahead)).toMatchObject({ error: null })
    await expectRevoked(restarted)
  })

  it('does not end with the answer to an earlier request or to another nonce', async () => {
    const { scene } = await revoked()
    const answers: string[] = []
    // An attacker records each answer on its way to the machine.
    scene.server.answer = (asked, response) => {
      answers.push(packBundle(answerTo(scene, nonceOf(asked))).toString())
      response.writeHead(503).end()
    }
    await scene.synchronizer.run(never)
    await refuse(scene)
    expect(answers).toHaveLength(1)

    for (const recorded of [...answers, packBundle(answerTo(scene, 'n'.repeat(22)))]) {
      scene.server.answer = answerWith(200, JSON_TYPE, recorded.toString())
      expect(await scene.synchronizer.run(never)).toMatchObject({ error: null })
      expect(scene.active.state()).toBe('revoked')
    }

    await expectRevoked(scene)
  })

  it('does not end with an unsigned nonce', async () => {
    const { scene } = await revoked()
    scene.server.answer = (asked, response) => {
      const nonce = JSON.stringify(nonceOf(asked))
      const served = alter(answerTo(scene, null), /device\/view$/, (text) =>
        text.replace('"view":', `"nonce":${nonce},"view":`),
      )
      serve(served)(asked, response)
    }

    expect(await scene.synchronizer.run(never)).toMatchObject({ error: { code: 'bad_signature' } })

    await expectRevoked(scene)
  })

  it('does not end with a bundle file, which is no evidence about the server', async () => {
    const { scene } = await revoked()
    scene.setClock(REFUSED_MS + MINUTE_MS)
    const after = scene.repository.release({ policies, atMs: REFUSED_MS + 1000 })

    expect(await scene.synchronizer.import([packBundle(after)], never)).toMatchObject({
      error: null,
    })

    await expectRevoked(scene)
  })

  it.each([
    ['with the same clock', 0],
    ['whose clock is minutes behind', -5 * MINUTE_MS],
    ['whose clock is minutes ahead', 5 * MINUTE_MS],
  ])('ends with an answer to it by a server %s, even after a restart', async (_which, aheadMs) => {
    const { scene } = await revoked()
    scene.setClock(REFUSED_MS + 1000)
    scene.server.answer = (asked, response) =>
      serve(answerTo(scene, nonceOf(asked), REFUSED_MS + aheadMs))(asked, response)

    expect(await scene.synchronizer.run(never)).toMatchObject({ error: null })

    expect(scene.active.state()).toBe('fresh')
    expect(scene.active.mayBreakGlass()).toBe(true)
    const restarted = await setUp(scene.directory, scene.repository, REFUSED_MS + MINUTE_MS)
    expect(restarted.active.state()).toBe('fresh')
  })

  it('sends a new nonce with each request, and no nonce after its end', async () => {
    const { scene, recorded } = await revoked()
    scene.server.requests.length = 0

    await scene.sync(recorded)
    await scene.sync(recorded)
    scene.server.answer = (asked, response) =>
      serve(answerTo(scene, nonceOf(asked)))(asked, response)
    await scene.synchronizer.run(never)
    await scene.sync(scene.repository.release({ policies, atMs: REFUSED_MS, revision: 9 }))

    const nonces = scene.server.requests
      .filter(({ url = '' }) => url.includes('/device/update'))
      .map(({ headers }) => headers['palisade-nonce'])
    expect(new Set(nonces.slice(0, 3)).size).toBe(3)
    for (const nonce of nonces.slice(0, 3)) expect(nonceSchema.safeParse(nonce).success).toBe(true)
    expect(nonces.slice(3)).toEqual([undefined])
  })

  it('ends although the clock was years ahead at the refusal', async () => {
    const scene = await inForce()
    scene.setClock(NOW_MS + 10 * 365 * 24 * HOUR_MS)
    await refuse(scene)
    scene.setClock(REFUSED_MS)
    expect(scene.active.state()).toBe('revoked')

    scene.server.answer = (asked, response) =>
      serve(answerTo(scene, nonceOf(asked)))(asked, response)
    expect(await scene.synchronizer.run(never)).toMatchObject({ error: null })

    expect(scene.active.state()).toBe('fresh')
  })
})

function nonceOf({ headers }: IncomingMessage): string {
  return String(headers['palisade-nonce'])
}

/** A release of the server that signs this nonce; without one if null. */
function answerTo({ repository }: Scene, nonce: string | null, atMs = REFUSED_MS): Served {
  return repository.release({ policies, atMs, assignment: nonce === null ? {} : { nonce } })
}
