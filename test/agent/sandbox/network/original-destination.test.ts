import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { loadDestinations } from '../../../../agent/src/sandbox/network/original-destination.ts'

async function accept(): Promise<Socket> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const program = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [client] = (await once(server, 'connection')) as [Socket]
  onTestFinished(() => {
    program.destroy()
    client.destroy()
    server.close()
  })
  return client
}

describe('the original destination', () => {
  it('is unknown once the connection is closed', async () => {
    const loaded = await loadDestinations()
    const client = await accept()
    client.destroy()
    await once(client, 'close')

    expect(loaded.ok && loaded.find(client)).toBeNull()
  })

  it('is never another one for a connection that no rule redirected', async () => {
    const loaded = await loadDestinations()
    const client = await accept()
    const { localAddress: address, localPort: port } = client

    // Null where the kernel tracks no connections here.
    expect([null, { address, port }]).toContainEqual(loaded.ok && loaded.find(client))
  })

  it('says which package is missing when the native call does not load', async () => {
    const loaded = await loadDestinations(() =>
      Promise.reject(new Error("Cannot find package 'koffi'\nRequire stack: …")),
    )

    expect(loaded).toEqual({
      ok: false,
      problem: expect.stringContaining("`koffi` does not load (Cannot find package 'koffi');"),
    })
  })

  it('says so when the call itself is missing', async () => {
    const missing = {
      load: () => ({
        func: () => {
          throw new Error('getsockopt not found')
        },
      }),
    }

    expect(await loadDestinations(() => Promise.resolve({ default: missing }))).toMatchObject({
      ok: false,
    })
  })
})
