import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openGovernedApp, type GovernedApp } from '../governed-app.ts'

const URL = '/v2/orgs/acme/governance/policies'
const JSON_TYPE = 'application/json'
let governed: GovernedApp

beforeAll(async () => {
  governed = await openGovernedApp()
})
afterAll(() => governed.close())

function post(payload: string | Buffer, headers: Record<string, string>) {
  return governed.send({ method: 'POST', url: URL, payload, headers })
}

describe('a JSON body', () => {
  it.each([
    ['a duplicate member', '{"name":"a","name":"b"}', 'name'],
    ['a duplicate member spelled with an escape', '{"name":"a","n\\u0061me":"b"}', 'name'],
    ['a nested duplicate member', '{"name":"a","scope":{"teams":[],"teams":[]}}', 'teams'],
    ['a null member', '{"name":null}', 'name'],
    ['a null scope', '{"name":"a","scope":null}', 'scope'],
    ['null teams', '{"name":"a","scope":{"teams":null}}', 'scope.teams'],
    ['an unknown member', '{"name":"a","color":"red"}', 'color'],
    ['a nested unknown member', '{"name":"a","scope":{"users":[]}}', 'scope.users'],
    ['the member __proto__', '{"name":"a","__proto__":{}}', '__proto__'],
    ['a missing member', '{}', 'name'],
    ['a wrong type', '{"name":7}', 'name'],
    ['an empty name', '{"name":"  "}', 'name'],
    ['a control character', '{"name":"a\\u0007"}', 'name'],
    ['an unpaired surrogate', '{"name":"\\ud800"}', 'name'],
    ['a name of 256 code points', `{"name":"${'😀'.repeat(256)}"}`, 'name'],
    ['a malformed team', '{"name":"a","scope":{"teams":["x"]}}', 'scope.teams[0]'],
    ['an array', '[]', undefined],
    ['null', 'null', undefined],
    ['a string', '"name"', undefined],
    ['white space only', ' ', undefined],
    ['no bytes', '', undefined],
    ['an incomplete value', '{"name":', undefined],
    ['two values', '{"name":"a"} {}', undefined],
    ['a comment', '{"name":"a"/**/}', undefined],
    ['a trailing comma', '{"name":"a",}', undefined],
    ['a BOM', '\uFEFF{"name":"a"}', undefined],
    ['deep nesting', '['.repeat(100_000), undefined],
    ['deep but complete nesting', `{"name":${'['.repeat(40)}${']'.repeat(40)}}`, undefined],
  ])('with %s is 400', async (_title, payload, field) => {
    const response = await post(payload, { 'content-type': JSON_TYPE })

    expect(response.statusCode).toBe(400)
    const { error } = response.json()
    expect(error.code).toBe('invalid_argument')
    expect(error.field).toBe(field)
    expect(error.message).toMatch(/^[^A-Z].*[^.]$/)
    expect(error.message).toContain(field ?? 'the body')
  })

  it('of 100 KB with 1,001 members in one object is 400', async () => {
    const members = Array.from({ length: 1001 }, (_, index) => [`m${index}`, 'x'.repeat(100)])
    const payload = JSON.stringify(Object.fromEntries(members))

    const response = await post(payload, { 'content-type': JSON_TYPE })

    expect(response.statusCode).toBe(400)
    expect(response.json().error.message).toBe(
      'the body is not acceptable JSON: more than 1000 different lists of member names',
    )
  })

  it.each([
    ['a lone continuation byte', Buffer.from([0x7b, 0x22, 0x80, 0x22, 0x7d])],
    ['an overlong slash', Buffer.from([0x22, 0xc0, 0xaf, 0x22])],
    ['a surrogate', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
    ['UTF-16', Buffer.from('{"name":"a"}', 'utf16le')],
  ])('with %s is 400', async (_title, payload) => {
    const response = await post(payload, { 'content-type': JSON_TYPE })
    expect(response.statusCode).toBe(400)
  })

  it('shortens a hostile member name in its message', async () => {
    const name = 'x'.repeat(100_000)
    for (const payload of [`{"${name}":1,"${name}":2}`, `{"name":"a","${name}":1}`]) {
      const response = await post(payload, { 'content-type': JSON_TYPE })
      expect(response.statusCode).toBe(400)
      expect(response.body.length).toBeLessThan(1000)
    }
  })

  it('may hold at most 100,000 values', async () => {
    const ofTeams = (count: number) =>
      post(`{"name":"a","scope":{"teams":[${Array(count).fill('1').join()}]}}`, {
        'content-type': JSON_TYPE,
      })

    const most = await ofTeams(100_000 - 4)
    const more = await ofTeams(100_000 - 3)

    expect(most.json().error.field).toBe('scope.teams[0]')
    expect(more.json().error.message).toContain('100000 values')
  })

  it('may have 1 MiB, and is 413 with one byte more', async () => {
    const ofLength = (length: number) => `{"name":"a"}${' '.repeat(length - 12)}`
    const fitting = await post(ofLength(1024 * 1024), { 'content-type': JSON_TYPE })
    const tooLarge = await post(ofLength(1024 * 1024 + 1), { 'content-type': JSON_TYPE })

    expect(fitting.statusCode).toBe(201)
    expect(tooLarge.statusCode).toBe(413)
    expect(tooLarge.json().error.code).toBe('invalid_argument')
  })
})

describe('the media type', () => {
  const accepted = [
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'application/json ; version=1',
  ]
  it.each(accepted)('%s is accepted', async (type) => {
    const name = `type ${String(accepted.indexOf(type))}`
    const response = await post(JSON.stringify({ name }), { 'content-type': type })
    expect(response.statusCode, response.body).toBe(201)
  })

  it.each([
    'text/plain',
    'application/json; charset=latin1',
    'application/json; charset=utf-16',
    'application/problem+json',
    'application/jsonx',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'json',
    'nonsense/',
    ';',
  ])('%s is 415', async (type) => {
    const response = await post('{"name":"a"}', { 'content-type': type })
    expect(response.statusCode).toBe(415)
    expect(response.json().error.code).toBe('invalid_argument')
  })

  it('is required by POST and PATCH, with and without a body', async () => {
    const { id } = (await post('{"name":"typed"}', { 'content-type': JSON_TYPE })).json()
    for (const payload of [undefined, '', '{"name":"a"}'])
      for (const [method, url] of [
        ['POST', URL],
        ['PATCH', `${URL}/${id}`],
      ] as const) {
        const response = await governed.send({
          method,
          url,
          ...(payload === undefined ? {} : { payload }),
        })
        expect(response.statusCode, `${method} ${String(payload)}`).toBe(415)
      }
  })

  it('is 415 with a content encoding', async () => {
    const headers = { 'content-type': JSON_TYPE, 'content-encoding': 'gzip' }
    expect((await post('{"name":"a"}', headers)).statusCode).toBe(415)
  })
})
