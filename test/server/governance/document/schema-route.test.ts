import { policyDocumentJsonSchema } from '@palisade/protocol'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { runCli } from '../../../cli/run-cli.ts'
import { openTestServer } from '../../test-server.ts'

const URL_PATH = '/api/v1/schemas/policies.json'

it('the schema of policy files is public, and the one that `palisade schema` prints', async () => {
  const { send } = await openTestServer()

  const answer = await send('GET', URL_PATH)
  const printed = await runCli(['schema'])

  expect(answer.statusCode).toBe(200)
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
  expect(answer.body).toBe(printed.out)
  expect(answer.json()).toEqual(policyDocumentJsonSchema())
  const schema = z.fromJSONSchema(answer.json())
  expect(schema.safeParse({ policies: [{ name: 'web', rules: [] }] }).success).toBe(true)
  expect(schema.safeParse({ policies: [{ name: 'web' }] }).success).toBe(false)
})

it('the schema of policy files may be cached and is revalidated by its entity tag', async () => {
  const { send } = await openTestServer()
  const first = await send('GET', URL_PATH)
  const etag = String(first.headers.etag)

  const again = await send('GET', URL_PATH, { headers: { 'if-none-match': etag } })
  const other = await send('GET', URL_PATH, { headers: { 'if-none-match': '"other"' } })

  for (const answer of [first, again])
    expect(answer.headers['cache-control']).toBe('public, max-age=3600')
  expect(again).toMatchObject({ statusCode: 304, body: '' })
  expect(again.headers.etag).toBe(etag)
  expect(other.statusCode).toBe(200)
  for (const bad of [
    await send('GET', `${URL_PATH}?org=acme`),
    await send('GET', URL_PATH, { headers: { 'if-none-match': 'bare' } }),
  ])
    expect(bad.statusCode).toBe(400)
})
