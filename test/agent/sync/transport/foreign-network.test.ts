import { describe, expect, it } from 'vitest'
import { refuseKey, type PolicyServer } from '../../fixture/policy-server.ts'
import { expectKept, inForce, never, policies, wide } from '../../fixture/sync-scene.ts'

type Answer = PolicyServer['answer']

const answerWith =
  (status: number, headers: Record<string, string>, body: string): Answer =>
  (_request, response) =>
    response.writeHead(status, headers).end(body)
const HTML = { 'content-type': 'text/html; charset=utf-8' }
const JSON_TYPE = { 'content-type': 'application/json' }
const PAGE = '\n<!doctype html><title>Welcome to the hotel</title>'
const GATEWAY = '{"message":"Unauthorized","code":401,"error":"unauthenticated"}'
const FORBIDDEN = '{"error":{"code":"permission_denied","message":"no"}}'
const LONG = JSON.stringify({ error: { code: 'unauthenticated', message: 'x'.repeat(5_000) } })
const breakOff: Answer = (_request, response) => {
  response.writeHead(200, { ...JSON_TYPE, 'content-length': 1000 })
  response.write('{"a"', () => response.destroy())
}

const PORTALS: readonly (readonly [string, string, Answer])[] = [
  ['a page', 'foreign_answer', answerWith(200, HTML, PAGE)],
  ['a page that is called JSON', 'foreign_answer', answerWith(200, JSON_TYPE, PAGE)],
  ['a page that asks for a password', 'foreign_answer', answerWith(401, HTML, PAGE)],
  ['401 without a body', 'foreign_answer', answerWith(401, {}, '')],
  ['401 with the JSON of a gateway', 'foreign_answer', answerWith(401, JSON_TYPE, GATEWAY)],
  ['401 with another code', 'foreign_answer', answerWith(401, JSON_TYPE, FORBIDDEN)],
  ['401 with a body that is too long', 'foreign_answer', answerWith(401, JSON_TYPE, LONG)],
  ['a page of status 511', 'foreign_answer', answerWith(511, HTML, PAGE)],
  ['a redirect', 'redirected', answerWith(302, { location: 'http://portal.test/' }, '')],
]

describe.each(['fresh', 'rejected'] as const)('a machine that is %s', (state) => {
  async function machine() {
    const scene = await inForce()
    if (state === 'rejected')
      await scene.sync(scene.repository.release({ policies: wide, org: 'rival' }))
    expect(scene.active.state()).toBe(state)
    return scene
  }

  it.each(PORTALS)('stays so behind a portal that sends %s', async (_what, code, portal) => {
    const scene = await machine()
    const { answerToken } = scene.server
    scene.server.answer = portal
    const { error } = await scene.synchronizer.run(never, true)
    scene.server.answerToken = portal
    const second = await scene.synchronizer.run(never)

    expect(error).toMatchObject({ code, message: expect.stringContaining('captive portal') })
    expect(second.error?.message).toContain('captive portal')
    expect(scene.active.state()).toBe(state)
    expectKept(scene)
    scene.server.answerToken = answerToken
    expect(await scene.sync(scene.repository.release({ policies }))).toMatchObject({ error: null })
    expect(scene.active.state()).toBe('fresh')
  })

  it.each([
    ['breaks off', 'truncated', breakOff],
    ['ends before it begins', 'empty', answerWith(200, JSON_TYPE, '')],
    ['is 304 without a condition', 'not_modified_without_bundle', answerWith(304, {}, '')],
  ] as const)('stays so when an answer %s', async (_what, code, answer) => {
    const scene = await machine()
    // A stale machine sends no condition.
    scene.setClock(scene.surroundings.nowMs + 25 * 3_600_000)
    const before = scene.active.state()
    scene.server.answer = answer

    expect(await scene.synchronizer.run(never)).toMatchObject({ error: { code } })

    expect(scene.active.state()).toBe(before)
  })
})

it("a machine is `rejected` when the server's offer was refused", async () => {
  const scene = await inForce()

  await scene.sync(scene.repository.release({ policies: wide, org: 'rival' }))

  expect(scene.active.state()).toBe('rejected')
})

it('a machine is `revoked` when the server itself refuses its key', async () => {
  const scene = await inForce()
  scene.server.answer = refuseKey
  scene.server.answerToken = refuseKey

  await scene.synchronizer.run(never)

  expect(scene.active.state()).toBe('revoked')
})
