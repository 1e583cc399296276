import { createServerClient } from '@palisade/client'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { describeNetworkError } from '../../../packages/client/src/server/describe-network-error.ts'
import { startLoopbackServer } from '../loopback-server.ts'

const pace = { now: () => 0, sleep: async () => {}, random: () => 0 }

async function messageOf(server: string): Promise<string> {
  const credentials = { username: 'alice', secret: 'x' }
  const client = createServerClient({ server, credentials, pace })
  return client.authenticate().then(
    () => 'reached',
    (error: unknown) => (error instanceof Error ? error.message : ''),
  )
}

it('suggests http if the server does not speak TLS', async () => {
  await using server = await startLoopbackServer(() => ({ body: {} }))
  const secure = server.url.replace('http:', 'https:')

  expect(await messageOf(secure)).toBe(
    `cannot reach the server at ${secure}: it speaks no TLS there; write \`${server.url}\``,
  )
})

it('suggests https if the answer is not HTTP', async () => {
  // The alert of a TLS server after a plain request.
  const server = createServer((socket) => socket.end(Buffer.from([21, 3, 3, 0, 2, 2, 70])))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const message = await messageOf(url)
  server.close()

  expect(message).toContain(`with TLS, write \`${url.replace('http:', 'https:')}\``)
})

it.each([
  ['SELF_SIGNED_CERT_IN_CHAIN', 'NODE_EXTRA_CA_CERTS=FILE'],
  ['CERT_HAS_EXPIRED', 'has expired'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'for another name'],
  ['EOTHER', 'as the system says it'],
])('describes %s', (code, words) => {
  const cause = Object.assign(new Error('as the system says it'), { code })
  const error = new TypeError('fetch failed', { cause })

  expect(describeNetworkError(error, 'https://palisade.example')).toContain(words)
})
