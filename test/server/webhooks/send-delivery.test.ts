import { createServer as createRawServer, type AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createReachableAddresses } from '../../../server/src/webhooks/reachable-addresses.ts'
import { createSendDelivery } from '../../../server/src/webhooks/send-delivery.ts'
import { openReceiver } from './receiver.ts'
import { DELIVERY, NEVER, sender } from './delivery-sender.ts'

describe('sending a delivery', () => {
  it('sends the request and reads the status', async () => {
    const receiver = await openReceiver()

    const outcome = await sender(['127.0.0.1']).send(receiver.url)

    expect(outcome).toEqual({ status: 204, error: null })
    expect(receiver.received).toMatchObject([
      { body: DELIVERY.body, headers: { 'webhook-id': 'evt_acme_1', 'content-length': '10' } },
    ])
  })

  it('resolves a name once and dials exactly the result', async () => {
    const receiver = await openReceiver()
    const { asked, send } = sender(['127.0.0.1'], { 'hooks.test': ['127.0.0.1'] })

    const outcome = await send(`http://hooks.test:${receiver.port}/x`)

    expect(outcome).toEqual({ status: 204, error: null })
    expect(asked).toEqual(['hooks.test'])
    expect(receiver.received).toMatchObject([
      { path: '/x', headers: { host: `hooks.test:${receiver.port}` } },
    ])
  })

  it.each([
    ['a private address', ['10.0.0.1']],
    ['the metadata service', ['169.254.169.254']],
    ['loopback', ['127.0.0.1', '::1']],
    ['nothing', []],
  ])('does not dial a name that resolves to %s', async (_name, addresses) => {
    const receiver = await openReceiver()
    const { send } = sender([], { 'hooks.test': addresses })

    for (const scheme of ['https', 'http'])
      expect(await send(`${scheme}://hooks.test:${receiver.port}/`)).toEqual({
        status: null,
        error: 'address_not_allowed',
      })
    expect(receiver.received).toEqual([])
  })

  it('skips addresses that it must not dial', async () => {
    const receiver = await openReceiver()
    const { send } = sender(['127.0.0.1'], { 'hooks.test': ['169.254.169.254', '127.0.0.1'] })

    expect((await send(`http://hooks.test:${receiver.port}/`)).status).toBe(204)
  })

  it.each(['http://127.0.0.1', 'https://127.0.0.1', 'http://8.8.8.8', 'http://[::1]'])(
    'does not dial %s, even if it was allowed when the URL was set',
    async (url) => {
      expect(await sender([]).send(url)).toEqual({ status: null, error: 'address_not_allowed' })
    },
  )

  it('does not follow a redirect', async () => {
    const receiver = await openReceiver()
    receiver.replies.push(302)

    expect(await sender(['127.0.0.1']).send(receiver.url)).toEqual({
      status: 302,
      error: 'redirect',
    })
    expect(receiver.received).toHaveLength(1)
  })

  it('times out a slow receiver or resolver', async () => {
    const receiver = await openReceiver()
    receiver.replies.push('silence')
    const timeout = { status: null, error: 'timeout' }

    expect(await sender(['127.0.0.1'], {}, 100).send(receiver.url)).toEqual(timeout)
    const send = createSendDelivery({
      reachable: createReachableAddresses([]),
      timeoutMs: 100,
      lookup: () => new Promise(() => {}),
    })
    expect(await send('https://hooks.test/', DELIVERY, NEVER)).toEqual(timeout)
  })

  it('does not wait for an answer that never ends', async () => {
    const endless = createRawServer((socket) => {
      socket.on('error', () => undefined)
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\nmore')
    })
    await new Promise<void>((resolve) => endless.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void endless.close())
    const { port } = endless.address() as AddressInfo

    expect(await sender(['127.0.0.1']).send(`http://127.0.0.1:${port}/`)).toEqual({
      status: 200,
      error: null,
    })
  })

  it.each([
    ['HTTP/1.1 200 OK\r\nx: ' + 'a'.repeat(100_000) + '\r\n\r\n', 'connection_failed'],
    ['nonsense\r\n\r\n', 'connection_failed'],
    ['', 'connection_failed'],
    // Produces neither a response nor an error, so it must time out.
    ['HTTP/1.1 101 Go\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n', 'connection_failed'],
  ])('treats an invalid answer as a failure', async (answer, error) => {
    const broken = createRawServer((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', () => socket.end(answer))
    })
    await new Promise<void>((resolve) => broken.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void broken.close())
    const { port } = broken.address() as AddressInfo

    const outcome = await sender(['127.0.0.1']).send(`http://127.0.0.1:${port}/`)

    expect(outcome).toEqual({ status: null, error })
  })

  it('reports a refused connection', async () => {
    const receiver = createRawServer()
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
    const { port } = receiver.address() as AddressInfo
    await new Promise((resolve) => receiver.close(resolve))

    const outcome = await sender(['127.0.0.1']).send(`http://127.0.0.1:${port}/`)

    expect(outcome).toEqual({ status: null, error: 'connection_refused' })
  })
})
