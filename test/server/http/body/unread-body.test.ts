import { once } from 'node:events'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { exchangeRaw, type RawAnswer } from '../../contract/raw-exchange.ts'
import { POLICIES } from '../../governance/policies.ts'
import { openGovernedApp, type GovernedApp } from '../governed-app.ts'

const KIB = 1024
const MIB = 1024 * KIB
const NO_POLICY = `${POLICIES}/pol_${'0'.repeat(28)}`
const APPLY = '/api/v1/orgs/acme/apply'

let governed: GovernedApp
let port: number

beforeAll(async () => {
  governed = await openGovernedApp()
  await governed.app.listen({ port: 0, host: '127.0.0.1' })
  port = (governed.app.server.address() as AddressInfo).port
})
afterAll(() => governed.close())

interface Announced {
  readonly as?: string | null
  readonly method?: string
  readonly url: string
  readonly length?: number | undefined
}

/** The head of a request that announces a body, by its length or in chunks. */
async function head({ as = 'olga', method = 'POST', url, length }: Announced, ...more: string[]) {
  const token = as === null ? 'x' : await governed.tokenFor(as)
  return [
    `${method} ${url} HTTP/1.1`,
    'Host: x',
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    length === undefined ? 'Transfer-Encoding: chunked' : `Content-Length: ${String(length)}`,
    ...more,
    '',
    '',
  ].join('\r\n')
}

function only(answers: readonly RawAnswer[]): string {
  expect(answers).toHaveLength(1)
  const [{ status, headers } = { status: 0, headers: new Map<string, string>() }] = answers
  return `${String(status)} ${headers.get('connection') ?? ''}`
}

describe('a body without a received byte', () => {
  it.each<[string, Announced, string]>([
    ['an unauthenticated caller', { as: null, url: APPLY, length: 16 * MIB }, '401 close'],
    ['a caller who is not a member', { as: 'rita', url: APPLY, length: 16 * MIB }, '404 close'],
    ['a member without permission', { as: 'mia', url: APPLY, length: 16 * MIB }, '403 close'],
    ['an auditor who writes', { as: 'audrey', url: POLICIES, length: MIB }, '403 close'],
    ['an auditor in chunks', { as: 'audrey', url: POLICIES }, '403 close'],
    [
      'an auditor with an unknown policy',
      { as: 'audrey', method: 'PATCH', url: NO_POLICY, length: MIB },
      '403 close',
    ],
    [
      'a check by a caller who is not a member',
      { as: 'rita', url: '/api/v1/orgs/acme/check', length: 64 * KIB + 1 },
      '404 close',
    ],
  ])('is refused to %s', async (_title, announced, expected) => {
    expect(only(await exchangeRaw(port, [await head(announced)], { endAfterAnswers: 1 }))).toBe(
      expected,
    )
  })

  it.each<[string, Announced, string]>([
    ['of a document', { url: APPLY, length: 16 * MIB + 1 }, '413 close'],
    ['of a policy', { url: POLICIES, length: MIB + 1 }, '413 close'],
    ['of 100 GB', { url: POLICIES, length: 100 * 1024 * MIB }, '413 close'],
    ['for an unknown policy', { method: 'PATCH', url: NO_POLICY, length: 2 * MIB }, '404 close'],
    [
      'of a check',
      { as: 'mia', url: '/api/v1/orgs/acme/check', length: 64 * KIB + 1 },
      '413 close',
    ],
  ])('is refused beyond the limit %s', async (_title, announced, expected) => {
    expect(only(await exchangeRaw(port, [await head(announced)]))).toBe(expected)
  })

  it('is not requested when it is refused', async () => {
    const request = await head({ as: 'mia', url: APPLY, length: MIB }, 'Expect: 100-continue')
    expect(only(await exchangeRaw(port, [request]))).toBe('403 close')
  })
})

describe('the connection', () => {
  it('stays open after the refusal of a small body', async () => {
    const request = await head({ as: 'mia', url: POLICIES, length: 2 })
    const answers = await exchangeRaw(port, [`${request}{}${request}{}`], { endAfterAnswers: 2 })
    expect(answers.map(({ status }) => status)).toEqual([403, 403])
  })

  it('stays open after a large body that was read', async () => {
    const text = '{"dry_run":true,"policies":[]}'.padEnd(MIB)
    const request = await head({ url: APPLY, length: text.length })
    const answers = await exchangeRaw(port, [request, text, request, text], { endAfterAnswers: 2 })
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
  })

  it.each([
    ['with its length', 3 * MIB, (piece: Buffer) => [piece]],
    [
      'in chunks',
      undefined,
      (piece: Buffer) => [`${piece.length.toString(16)}\r\n`, piece, '\r\n'],
    ],
  ] as const)(
    'lets a client finish sending %s and read the answer',
    async (_title, length, frame) => {
      const pieces = Array.from({ length: 48 }, () => frame(Buffer.alloc(64 * KIB, ' '))).flat()
      const answers = await exchangeRaw(port, [await head({ url: POLICIES, length }), ...pieces])
      expect(only(answers)).toBe('413 close')
    },
  )

  it('is closed when the client keeps sending', async () => {
    const accepted = once(governed.app.server, 'connection') as Promise<[Socket]>
    const client = connect(port, '127.0.0.1')
    onTestFinished(() => void client.destroy())
    const [server] = await accepted
    client.on('error', () => undefined).resume()
    client.write(await head({ as: null, url: POLICIES, length: 100 * 1024 * MIB }))
    const piece = Buffer.alloc(64 * KIB, ' ')
    let sent = 0
    while (!client.destroyed && sent < 1024 * MIB) {
      sent += piece.length
      if (!client.write(piece)) await Promise.race([once(client, 'drain'), once(client, 'close')])
    }

    expect(client.destroyed).toBe(true)
    expect(server.bytesRead).toBeLessThan(256 * MIB)
  })
})
