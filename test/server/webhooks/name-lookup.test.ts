import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createNameLookup } from '../../../server/src/webhooks/name-lookup.ts'

const NEVER = new AbortController().signal

/** A name server without names, or without answers; resolves to its address. */
async function openNameServer(kind: 'knows nothing' | 'silent'): Promise<string> {
  const socket = createSocket('udp4')
  onTestFinished(() => void socket.close())
  socket.on('message', (query, { port, address }) => {
    if (kind === 'silent') return
    const answer = Buffer.from(query)
    // A response, NXDOMAIN.
    answer.writeUInt16BE(0x8183, 2)
    socket.send(answer, port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return `127.0.0.1:${socket.address().port}`
}

/** A system resolver that answers on demand. */
function openSystem() {
  const asked: string[] = []
  const answers: ((addresses: string[]) => void)[] = []
  return {
    asked,
    answer: (address: string) => answers.shift()?.([address]),
    system: (name: string) => {
      asked.push(name)
      return new Promise<string[]>((resolve) => answers.push(resolve))
    },
  }
}

describe('the addresses of a webhook', () => {
  it('are not looked up by the system if the name servers do not answer', async () => {
    const { asked, system } = openSystem()
    const lookup = createNameLookup({
      servers: [await openNameServer('silent')],
      timeoutMs: 200,
      system,
    })

    await expect(lookup('hooks.example', NEVER)).rejects.toMatchObject({ code: 'ETIMEOUT' })

    expect(asked).toEqual([])
  })

  it('are looked up by the system one name at a time, without abandoned look-ups', async () => {
    const { asked, answer, system } = openSystem()
    const lookup = createNameLookup({ servers: [await openNameServer('knows nothing')], system })
    const stop = new AbortController()

    const first = lookup('one.test', NEVER)
    await expect.poll(() => asked).toEqual(['one.test'])
    const second = lookup('two.test', stop.signal).catch((error: unknown) => error)
    const third = lookup('three.test', NEVER)
    stop.abort()
    answer('192.0.2.1')
    expect(await first).toEqual(['192.0.2.1'])
    await expect.poll(() => asked).toContain('three.test')
    answer('192.0.2.3')

    expect(await third).toEqual(['192.0.2.3'])
    expect(await second).toMatchObject({ name: 'AbortError' })
    expect(asked).toEqual(['one.test', 'three.test'])
  })

  it('of the hosts file are found', async () => {
    const lookup = createNameLookup({ servers: [await openNameServer('knows nothing')] })

    const found = await lookup('localhost', NEVER)

    expect(found.some((address) => ['127.0.0.1', '::1'].includes(address))).toBe(true)
  })
})
